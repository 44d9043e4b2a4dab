from itertools import islice
from games.source.duel.matches import settings, play_one
from games.source.duel.counting import row_of
from concurrent.futures import ProcessPoolExecutor
import sys
if __name__=="__main__":
    with ProcessPoolExecutor(2) as p:
        for pol,lev in (("patient@30:0",4),("patient@30:0",8),("patient@30:12",4)):
            r=row_of(pol, list(p.map(play_one, islice(settings(pol,lev),200))),200)
            print(pol,lev,{k:r[k] for k in ("n","won","low","high","drawn","damage")})
