/* A maze is a tree of corridors. Its doors stand on the way to the goal, which is as far away as can be, and each key
   lies at a dead end before its door: where somebody comes who has opened only the doors before. So every maze can be
   solved, and nothing but a door is in anybody's way. */
#include "maze.h"
#include "chance.h"

#define ACROSS 14 /* crossings, on every other tile */
#define DOWNWARDS 8
#define CROSSINGS (ACROSS * DOWNWARDS)
#define ENTRANCE 0 /* the crossing at the upper left; the way out is at its left */
#define ABOVE 1
#define AT_RIGHT 2
#define BELOW 4
#define AT_LEFT 8

u16 cells_maze[COLUMNS * ROWS];
u8 ground_maze[COLUMNS * ROWS];

static u8 before[CROSSINGS]; /* the crossing from which each is reached */
static u8 steps_to[CROSSINGS];
static u8 ways_on[CROSSINGS]; /* 0: a dead end */
static u8 reached[CROSSINGS], used[CROSSINGS];
static u8 order[CROSSINGS]; /* in which they were reached */
static u8 doors_before[CROSSINGS]; /* that have to be opened on the way there, its own included */

static u8 column(u8 crossing) { return (u8)(1 + 2 * (crossing % ACROSS)); }
static u8 row(u8 crossing) { return (u8)(1 + 2 * (crossing / ACROSS)); }

static void open_tile(u8 x, u8 y) { ground_maze[y * COLUMNS + x] = 0; }

/* ---- corridors ---- */

/* The crossing beyond, or CROSSINGS if that is outside. */
static u8 beyond(u8 crossing, u8 direction)
{
    s8 x = (s8)(crossing % ACROSS + step_x[direction]), y = (s8)(crossing / ACROSS + step_y[direction]);
    return x < 0 || y < 0 || x >= ACROSS || y >= DOWNWARDS ? CROSSINGS : (u8)(y * ACROSS + x);
}

/* A direction in which nothing was dug yet, drawn at random; DIRECTIONS if there is none. */
static u8 draw_way(u8 crossing)
{
    u8 found[DIRECTIONS], count = 0;
    for (u8 direction = 0; direction < DIRECTIONS; direction++) {
        u8 there = beyond(crossing, direction);
        if (there != CROSSINGS && !reached[there])
            found[count++] = direction;
    }
    return count ? found[chance_below(count)] : DIRECTIONS;
}

/* Dig on from crossing to crossing, and back where there is no way on: a depth-first search. */
static void dig(void)
{
    for (u16 tile = 0; tile < COLUMNS * ROWS; tile++)
        ground_maze[tile] = SOLID;
    for (u8 i = 0; i < CROSSINGS; i++)
        reached[i] = used[i] = ways_on[i] = doors_before[i] = 0;
    u8 here = ENTRANCE, count = 0;
    order[count++] = here;
    reached[here] = 1;
    steps_to[here] = 0;
    open_tile(column(here), row(here));
    open_tile((u8)(column(here) - 1), row(here));
    for (;;) {
        u8 direction = draw_way(here);
        if (direction == DIRECTIONS) {
            if (here == ENTRANCE)
                return;
            here = before[here];
            continue;
        }
        u8 there = beyond(here, direction);
        open_tile((u8)(column(here) + step_x[direction]), (u8)(row(here) + step_y[direction]));
        open_tile(column(there), row(there));
        order[count++] = there;
        reached[there] = 1;
        before[there] = here;
        ways_on[here]++;
        steps_to[there] = (u8)(steps_to[here] + 1);
        here = there;
    }
}

/* ---- what stands in them ---- */

static void place(u8 thing, u8 crossing)
{
    things[thing].x = column(crossing);
    things[thing].y = row(crossing);
    used[crossing] = 1;
}

/* The goal at the crossing that is farthest away, and the doors on the way there, at equal distances. */
static void place_doors(void)
{
    u8 goal = ENTRANCE;
    for (u8 i = 0; i < CROSSINGS; i++)
        if (steps_to[i] > steps_to[goal])
            goal = i;
    place(MAZE_GOAL, goal);
    for (u8 door = 0; door < MAZE_DOORS; door++) {
        u8 at = goal, distance = (u8)(steps_to[goal] * (door + 1) / (MAZE_DOORS + 1));
        while (steps_to[at] > distance)
            at = before[at];
        place((u8)(MAZE_FIRST_DOOR + door), at);
        doors_before[at] = 1;
    }
    for (u8 i = 1; i < CROSSINGS; i++)
        doors_before[order[i]] = (u8)(doors_before[order[i]] + doors_before[before[order[i]]]);
}

/* At a dead end that is reached through so many doors at most. Returns 0 if there is none left. */
static u8 place_within(u8 thing, u8 doors)
{
    u8 found[CROSSINGS], count = 0;
    for (u8 i = 0; i < CROSSINGS; i++)
        if (!ways_on[i] && !used[i] && doors_before[i] <= doors)
            found[count++] = i;
    if (!count)
        return 0;
    place(thing, found[chance_below(count)]);
    return 1;
}

static u8 place_keys(void)
{
    if (!place_within(MAZE_NOTE, 0))
        return 0;
    for (u8 door = 0; door < MAZE_DOORS; door++)
        if (!place_within((u8)(MAZE_FIRST_KEY + door), door))
            return 0;
    return 1;
}

/* ---- what is to be seen ---- */

static u8 is_open(s8 x, s8 y)
{
    return x >= 0 && y >= 0 && x < COLUMNS && y < ROWS && !(ground_maze[y * COLUMNS + x] & SOLID);
}

static void draw_cells(void)
{
    for (s8 y = 0; y < ROWS; y++)
        for (s8 x = 0; x < COLUMNS; x++) {
            u8 sides = (u8)(is_open(x, y - 1) * ABOVE | is_open(x + 1, y) * AT_RIGHT | is_open(x, y + 1) * BELOW |
                            is_open(x - 1, y) * AT_LEFT);
            cells_maze[y * COLUMNS + x] = is_open(x, y) ? MAZE_FLOOR : (u16)(MAZE_WALL + sides);
        }
}

void maze_draw(void)
{
    if (!game.random) /* at power-on */
        chance_start(game.seed);
    do {
        dig();
        place_doors();
    } while (!place_keys());
    draw_cells();
}
