from scratch.climb_helper import *
src=open('scratch/cem2.py').read(); PAL.extend(A(x) for x in src.split('P="""')[1].split('"""')[0].replace("\n","|").split("|"))
Ks=["U+F:1 C:1 D+G:4","U+F:1 Z:1 D+G:4","C:1 D+G:5","U+F:1 B:1 D+G:4","D+G:15","D+G:27 U+F:1"]
PAL.extend([A(x) for x in Ks]*5)
rows=[json.loads(l) for l in open('scratch/found7.jsonl')]
two=[Player.from_json(r["player"]) for r in rows if r["label"]=="two late instant air kick, 8 10"][-1]
t=Player.from_json(json.load(open('scratch/cl_a.json')))
c=[]
for far in (0,1):
  for lo in ("U+F:1 C:1 D+G:4","C:1 D+G:5"):
    for full in (0,1):
      a=list(t.answers); 
      for b in range(2): a[b*6+2]=A(lo)
      if full:
        for b in range(4):
          for g in range(3):
            for h in range(2): a[b*6+g*2+h]=two.answers[(2 if g==1 else 0)+(b<2)]
      else:
        a[0]=a[6]=A("D+G:15")
        if far: a[12]=A("F:1"); a[18]=A("F:1"); a[14]=a[20]=A("D+G:27 U+F:1")
      c.append(replace(t,distance_edges=(56,78,132),answers=tuple(a)))
s=sum(sc(play(c,ms("h5",l,60))) for l in (4,6,8,10)); o=np.argsort(-s); print(ev(c[o[0]],100),flush=True)
b=climb(c[o[0]],[4,6,8,10],48,n1=24,n2=80); showp(b); keep("table instant air kick",b)
b=climb(replace(two,late=16),[4,6],12); showp(b); keep("two late 16",b)
