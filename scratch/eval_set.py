"""python scratch/eval_set.py N: win and draw shares of the saved players, the worst by class, at 4 6 8 10"""
import json,sys
from itertools import islice
from concurrent.futures import ProcessPoolExecutor
from collections import defaultdict
from games.source.duel.native.players import *
from games.source.duel.native.compiled import library
from games.source.duel.search.evolution import shuffled_settings
N=int(sys.argv[1])
def load():
    out=[]; seen=set()
    for path in sys.argv[2:] or ["/tmp/evalset.jsonl"]:
        for l in open(path):
            d=json.loads(l)
            if "player" not in d: continue
            k=json.dumps(d["player"],sort_keys=True)
            if k in seen: continue
            seen.add(k); out.append((d.get("what") or d.get("label") or path.split("/")[-1],d["player"]))
    return out
def one(a):
    what,pj=a; p=Player.from_json(pj); out=[]
    for level in (4,6,8,10):
        r=play([p],list(islice(shuffled_settings("evalset",level),N)))
        w=float(won(r).mean()); d=float((r["victories"][...,0]==r["victories"][...,1]).mean()); t=float(r["dealt"].sum()/r["rounds"].sum())
        out.append((w,d,t))
    return what,p,out
def cls(p):
    n={"steps":"loop","loop":"loop"}.get(p.kind,p.kind)
    if p.kind=="rule": n="one" if len(p.conditions)==1 else "two"
    late="late" if p.late>=12 else "early"
    return n if n=="loop" else f"{n} {late}"
if __name__=="__main__":
    library()
    items=load()
    best=defaultdict(list)
    with ProcessPoolExecutor(2) as ex:
        for what,p,out in ex.map(one,items,chunksize=2):
            for i,l in enumerate((4,6,8,10)):
                best[cls(p),l].append((out[i][0],out[i][1],round(out[i][2]),what[:60]))
                if out[i][2]<=35: best["turtle",l].append((out[i][0],out[i][1],round(out[i][2]),what[:60]))
                best["~draws"+(" late" if p.late>=12 else " early"),l].append((out[i][1],out[i][0],round(out[i][2]),what[:60]))
    print(len(items),"players")
    for c in sorted({c for c,_ in best}):
        print(f"{c:14}"," | ".join("%.2f d%.2f"%max(best[c,l],default=(0,0))[:2] for l in (4,6,8,10)), max(best[c,8],default=("","","",""))[3][:40])
