"""Add the players of JSON-lines files to the pool at 4 6 8 10 if they win more than half of their limit; the pool's weakest go."""
import json,sys
from itertools import islice
from concurrent.futures import ProcessPoolExecutor
from games.source.duel.native.players import *
from games.source.duel.native.compiled import library
from games.source.duel.search.evolution import shuffled_settings
from games.source.duel.search.tuning import *
def rate(e):
    r=play([e.player],list(islice(shuffled_settings("merge",e.level),60)))
    t=float(r["dealt"].sum()/r["rounds"].sum())
    return float(won(r).mean()),t
def mark(e):
    w,t=rate(e); from dataclasses import replace
    e=replace(e,is_turtle=t<=35); return w/e.limit,e
def known(e): return rate(e)[0]/e.limit
if __name__=="__main__":
    library(); pool=read_pool(); new=[]
    for f in sys.argv[1:]:
        for l in open(f):
            d=json.loads(l)
            if "player" in d:
                for level in (4,6,8,10): new.append(Exploiter(level,Player.from_json(d["player"])))
    with ProcessPoolExecutor(2) as p:
        fresh=[(x,e) for x,e in p.map(mark,new,chunksize=8) if x>.5 and e not in pool]
        old=list(zip(p.map(known,pool,chunksize=8),pool))
    fresh=list({repr(e):(x,e) for x,e in fresh}.values())
    everyone=sorted(old+fresh,key=lambda t:-t[0])[:790]
    print(len(old),len(fresh),"kept new",sum(1 for t in everyone if t in fresh),[round(t[0],2) for t in everyone[:10]],everyone[-1][0])
    write_pool([e for _,e in everyone])
