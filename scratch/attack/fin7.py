from scratch.lib7 import *
for line in open('scratch/found7.jsonl'):
    d=json.loads(line); p=Player.from_json(d["player"])
    if d["label"].startswith("cemr"): continue
    o=[]
    for l in (4,6,8,10):
        r=play([p],ms("fresh-attack-3",l,1000))[0]; w=int(won(r).sum()); ci=wilson(w,1000)
        o.append(f"L{l} {w/10:.1f} ({100*ci[0]:.1f}-{100*ci[1]:.1f}) d{(r['victories'][...,0]==r['victories'][...,1]).mean()*100:.1f} dmg{r['dealt'].sum()/r['rounds'].sum():.0f} air%x{np.mean(r['landed'][:,0]>>13&63>0)*100:.0f}")
    print(d["label"],cls(p),"late",p.late,"|"," | ".join(o),flush=True)
