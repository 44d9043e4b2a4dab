import json,sys
from itertools import islice
from games.source.duel.native.players import *
from games.source.duel.search.evolution import shuffled_settings
N=int(sys.argv[1]); L=tuple(map(int,sys.argv[2].split(",")))
for f in sys.argv[3:]:
  for l in open(f):
    d=json.loads(l)
    if "player" not in d: continue
    p=Player.from_json(d["player"]); o=[]
    for level in L:
        r=play([p],list(islice(shuffled_settings("ev10",level),N)))
        o.append("%3d d%2d %3d"%(100*won(r).mean(),100*(r["victories"][...,0]==r["victories"][...,1]).mean(),r["dealt"].sum()/r["rounds"].sum()))
    print(f"{d.get('label','')[:40]:40} {p.late:2}"," | ".join(o),flush=True)
