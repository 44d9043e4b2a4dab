from scratch.climb_helper import *
src=open('scratch/cem2.py').read(); PAL.extend(A(x) for x in src.split('P="""')[1].split('"""')[0].replace("\n","|").split("|"))
PAL.extend([A("U+F:1 C:1 D+G:4"),A("U:1 C:1 D+G:4"),A("U+F:1 Z:1 D+G:4"),A("U+F:1 B:1 D+G:4")]*5)
b0=Player.from_json(json.loads(open('scratch/found7.jsonl').read().splitlines()[-1])["player"])
b=climb(b0,[8,10],26); showp(b); keep("two late instant air kick, 8 10",b)
e=climb(replace(b0,late=0),[8,10],16); showp(e); keep("two early instant air kick",e)
K="U+F:1 C:1 D+G:4"
c=[rule(12,[k],[x,y]) for k in (("enemy is",48),("enemy is",16),("distance",82),("distance",70),("enemy is",52)) for x in ("F:1 ","D+G:13","F:3 D+G:6","F:1 D+G:12","F:4 D+G:16") for y in (K,"D+G:13","U+F:1 C:1 D+G:14","D+G:10 "+K)]
s=sum(sc(play(c,ms("h1",l,30))) for l in (4,6)); o=np.argsort(-s)
o1=climb(c[o[0]],[4,6],16); showp(o1); keep("one late",o1)
L="U+F:1 C:1 D+G:13"
c=[Player("loop",(A(x+K),)) for x in ("D+G:6 ","D+G:20 ","F:4 D+G:16 ","F:6 D+G:10 ","D+G:30 ","F:10 D+G:20 ","F:3 D+G:36 ","F:8 ")]
s=sum(sc(play(c,ms("h1",l,60))) for l in (4,6)); print(ev(c[int(np.argmax(s))],150)); keep("loop",c[int(np.argmax(s))])
