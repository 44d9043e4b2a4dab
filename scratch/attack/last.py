from scratch.lib7 import *
rows=[json.loads(l) for l in open('scratch/found7.jsonl')]
p=[Player.from_json(r["player"]) for r in rows if r["label"]=="two late instant air kick, 8 10"][-1]
a=list(p.answers); a[3]=A("D+C:1 D+G:5"); q=replace(p,answers=tuple(a)); keep("two late sweep answer",q)
for n,x in (("sweep",q),("sweep late18",replace(q,late=18))):
    for l in (4,6,8,10):
        r=play([x],ms("fresh-attack-3",l,1000))[0]; w=int(won(r).sum()); ci=wilson(w,1000)
        print(n,l,w/10,[round(100*c,1) for c in ci],r["dealt"].sum()/r["rounds"].sum(),float((r['victories'][...,0]==r['victories'][...,1]).mean()),flush=True)
