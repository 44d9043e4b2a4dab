import json,sys
from itertools import islice
from games.source.duel.native.players import *
from games.source.duel.search.evolution import shuffled_settings
N=int(sys.argv[1])
for l in open(sys.argv[2]):
    d=json.loads(l); p=Player.from_json(d["player"]); o=[]
    for level in (4,6,8,10):
        r=play([p],list(islice(shuffled_settings("ev5",level),N)))
        o.append("%3d d%2d %2d"%(100*won(r).mean(),100*(r["victories"][...,0]==r["victories"][...,1]).mean(),r["dealt"].sum()/r["rounds"].sum()))
    print(f"{d['label'][:40]:40} {p.late:2}"," | ".join(o),flush=True)
