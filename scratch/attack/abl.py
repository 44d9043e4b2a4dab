from scratch.lib7 import *
rows=[json.loads(l) for l in open('scratch/found7.jsonl')]
for lab in ("distilled two late","two late instant air kick, 8 10"):
    p=[Player.from_json(r["player"]) for r in rows if r["label"]==lab][-1]
    r=play([p],ms("abl",8,150))[0]
    print(lab,{m:round(float((r["landed"][:,0]>>m&1).mean()),2) for m in range(1,22) if (r["landed"][:,0]>>m&1).mean()>.02})
    for k in ("U+F:1 C:1 D+G:4","C:1 D+G:5","U:1 C:1 D+G:4","U+F:1 D+G:5","D+C:1 D+G:5","D+G:6"):
        a=list(p.answers); a[3]=A(k); print("  near attack ->",k,[x[0] for x in ev(replace(p,answers=tuple(a)),150,"abl")],flush=True)
