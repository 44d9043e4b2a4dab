from scratch.climb_helper import *
import itertools
src=open('scratch/cem2.py').read(); PAL.extend(A(x) for x in src.split('P="""')[1].split('"""')[0].replace("\n","|").split("|"))
c=[]
for far in ("F:3 D+G:6","F:2","U+F:4 -:26 C:3 D+G:4"):
  for near in ("D+G:10","G:6","F+Z:2 F+C:2 D+G:4"):
    for hit in ("F:4 C:3 D+G:8","G:10 C:3 D+G:10","D+C:3 D+G:8","F+Z:2 F+C:2 D+G:4"):
      for m in (48,112,16,52):
        for d in (60,76,90):
          c.append(rule(12,[("enemy is",m),("distance",d)],[far,near,"D+G:20" if R.random()<.5 else "G:20",hit]))
R.shuffle(c); c=c[:220]
s=sum(sc(play(c,ms("h1",l,8))) for l in (6,8,10)); o=np.argsort(-s)[:25]; c=[c[k] for k in o]
s=sum(sc(play(c,ms("h2",l,60))) for l in (6,8,10)); o=np.argsort(-s); c=[c[k] for k in o]
for p in c[:2]: print(ev(p,100)); showp(p)
b=climb(c[0],[6,8,10],45); showp(b); keep("distilled two late",b)
