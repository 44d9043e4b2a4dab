import sys,time
from itertools import islice
from games.source.duel.search.gradient import *
from games.source.duel.native.players import play,won
for lev in (4,6,8,10):
    for late in (12,0):
        sp=Space("table",late,0); out=[]
        for n in range(4):
            p=learned_table(sp,lev,f"check {n}")
            r=play([p],list(islice(shuffled_settings("pgc",lev),200)))
            out.append((round(float(won(r).mean()),2),round(float((r["victories"][...,0]==r["victories"][...,1]).mean()),2)))
        print(lev,late,out,flush=True)
