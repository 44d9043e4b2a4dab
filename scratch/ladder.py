import sys
from itertools import islice
from concurrent.futures import ProcessPoolExecutor
from games.source.duel.native.players import play, won, NOBODY
from games.source.duel.native.compiled import library
from games.source.duel.search.tuning import Exploiter
def share(a):
    hi,lo,n=a
    # both sides
    e=Exploiter(lo,NOBODY,hi); r=play([NOBODY], e.matches("lad",n//2)); w=won(r).mean()
    e=Exploiter(hi,NOBODY,lo); r2=play([NOBODY], e.matches("lad2",n//2))
    l=(r2["victories"][...,1]>r2["victories"][...,0]).mean()
    return hi,lo,float((w+l)/2)
if __name__=="__main__":
    library()
    pairs=[tuple(map(int,x.split(":"))) for x in sys.argv[2:]]
    with ProcessPoolExecutor(2) as p:
        for r in p.map(share,[(a,b,int(sys.argv[1])) for a,b in pairs]): print(r)
