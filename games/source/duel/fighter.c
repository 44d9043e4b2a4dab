#include "fighter.h"
#include "published.h"

#define BEFORE_JUMP 3      /* start-up frames of a jump */
#define FALL_UP 84         /* initial upward speed of a knock-down, subpixels per frame */
#define FRICTION 4
#define RISING_SAFE 5
#define PROJECTILE_HEIGHT PIXELS(46)
#define PROJECTILE_START PIXELS(30)

static const u16 button_bits[BUTTONS] = {PAD_X, PAD_Y, PAD_Z, PAD_A, PAD_B, PAD_C};

void fighter_place(struct fighter *f, s16 x, u8 faces_right)
{
    u8 character = f->character;
    u32 landed = f->landed;
    memset(f, 0, sizeof *f);
    f->character = character;
    f->landed = landed;
    f->x = x;
    f->y = GROUND;
    f->hp = FULL_HP;
    f->faces_right = faces_right;
}

static void enter(struct fighter *f, enum fighter_state state)
{
    f->state = state;
    f->frame = 0;
    f->move = MOVE_NONE;
}

static void begin_move(struct fighter *f, u8 move)
{
    f->move = move;
    f->frame = 0;
    f->has_hit = 0;
    f->input.pressed = 0;
    if (f->state != AIR) {
        f->state = ATTACK;
        f->vx = 0;
    }
}

/* The first of the six buttons that is in the input buffer; BUTTONS if none is. */
static u8 waiting_button(const struct fighter *f)
{
    u8 button = 0;
    if (!f->input.pressed)
        return BUTTONS;
    while (button < BUTTONS && !(f->input.pressed & button_bits[button]))
        button++;
    return button;
}

static u8 chosen_move(const struct fighter *f, struct target other, u16 forward)
{
    u8 button = waiting_button(f);
    if (button == BUTTONS)
        return MOVE_NONE;
    if (button <= HEAVY_PUNCH) {
        u8 motion = input_motion(&f->input, f->faces_right);
        if (motion == MOTION_RISING)
            return MOVE_RISING;
        if (motion == MOTION_QUARTER && !f->projectile.flies)
            return MOVE_PROJECTILE;
    }
    u16 held = f->input.held;
    u8 heavy = button == HEAVY_PUNCH || button == HEAVY_KICK;
    if (heavy && (held & forward) && !(held & PAD_DOWN) && other.grabbable
        && distance(f->x, other.x) <= PIXELS(character_of(f)->throw_range))
        return MOVE_THROW;
    return (u8)((held & PAD_DOWN ? MOVE_CROUCHING : MOVE_STANDING) + button);
}

static void step_free(struct fighter *f, struct target other)
{
    const struct character *c = character_of(f);
    u16 held = f->input.held;
    f->faces_right = f->x == other.x ? f->faces_right : f->x < other.x;
    u16 forward = f->faces_right ? PAD_RIGHT : PAD_LEFT, back = PAD_LEFT | PAD_RIGHT;
    back = (u16)(back & ~forward);
    f->vx = 0;
    f->crouches = (held & PAD_DOWN) != 0;

    u8 move = chosen_move(f, other, forward);
    if (move) {
        begin_move(f, move);
        return;
    }
    if ((held & PAD_UP) && !f->crouches) {
        s16 sideways = c->jump_sideways;
        enter(f, RISING_UP);
        f->vx = held & PAD_RIGHT ? sideways : held & PAD_LEFT ? (s16)-sideways : 0;
        return;
    }
    if (f->crouches)
        return;
    if (held & forward)
        f->x += f->faces_right ? c->walk_forward : -c->walk_forward;
    else if (held & back)
        f->x -= f->faces_right ? c->walk_back : -c->walk_back;
    else
        return;
    f->walks++;
}

static void land(struct fighter *f)
{
    f->y = GROUND;
    f->vx = f->vy = 0;
}

/* Advance a flight by one frame; true on landing. */
static u8 fly(struct fighter *f)
{
    f->x += f->vx;
    f->y += f->vy;
    f->vy += GRAVITY;
    if (f->y < GROUND || f->vy < 0)
        return 0;
    land(f);
    return 1;
}

static void step_air(struct fighter *f)
{
    u8 button = waiting_button(f);
    if (f->move)
        f->frame++;
    else if (button < BUTTONS)
        begin_move(f, (u8)(MOVE_JUMPING + button));
    if (fly(f)) {
        u8 attacked = f->move != MOVE_NONE;
        enter(f, attacked ? LANDING : FREE);
    }
}

static void release_projectile(struct fighter *f)
{
    struct projectile *p = &f->projectile;
    s16 speed = character_of(f)->projectile_speed;
    p->flies = 1;
    p->age = 0;
    p->speed = f->faces_right ? speed : (s16)-speed;
    p->x = (s16)(f->x + (f->faces_right ? PROJECTILE_START : -PROJECTILE_START));
    p->y = (s16)(GROUND - PROJECTILE_HEIGHT);
}

static void step_attack(struct fighter *f)
{
    const struct move *move = move_of(f);
    f->frame++;
    if (f->move == MOVE_PROJECTILE && f->frame == move->startup)
        release_projectile(f);
    if (f->move == MOVE_RISING) {
        if (f->frame == move->startup) {
            f->vy = -RISING_SPEED_UP;
            f->vx = f->faces_right ? RISING_SPEED_FORWARD : -RISING_SPEED_FORWARD;
        }
        if (f->frame >= move->startup && (f->vy || f->y < GROUND))
            fly(f);
    }
    if (f->frame >= move_frames(move) && f->y == GROUND)
        enter(f, FREE);
}

static void slide(struct fighter *f)
{
    f->x += f->vx;
    if (f->vx > 0)
        f->vx = f->vx > FRICTION ? (s16)(f->vx - FRICTION) : 0;
    else
        f->vx = f->vx < -FRICTION ? (s16)(f->vx + FRICTION) : 0;
}

void fighter_fall(struct fighter *f, s16 speed)
{
    enter(f, FALLING);
    f->vx = speed;
    f->vy = -FALL_UP;
    if (f->y == GROUND)
        f->y -= 1;
}

void fighter_step(struct fighter *f, struct target other)
{
    if (f->safe)
        f->safe--;
    switch (f->state) {
    case FREE:
        step_free(f, other);
        break;
    case RISING_UP:
        if (++f->frame >= BEFORE_JUMP) {
            s16 sideways = f->vx;
            enter(f, AIR);
            f->vx = sideways;
            f->vy = -(s16)character_of(f)->jump_up;
        }
        break;
    case AIR:
        step_air(f);
        break;
    case LANDING:
        if (++f->frame >= LANDS_FOR)
            enter(f, FREE);
        break;
    case ATTACK:
        step_attack(f);
        break;
    case HIT:
    case BLOCK:
        f->crouches = f->state == BLOCK ? (f->input.held & PAD_DOWN) != 0 : f->crouches;
        slide(f);
        if (--f->stun == 0) {
            f->vx = 0;
            enter(f, FREE);
        }
        break;
    case FALLING:
        f->frame += f->frame < 200;
        if (fly(f)) {
            enter(f, LYING);
            f->crouches = 0;
        }
        break;
    case LYING:
        if (++f->frame >= LIES_FOR && f->hp != KNOCKED_OUT)
            enter(f, STANDING_UP);
        else if (f->frame > LIES_FOR)
            f->frame = LIES_FOR;
        break;
    case STANDING_UP:
        if (++f->frame >= STANDS_UP_FOR) {
            enter(f, FREE);
            f->safe = SAFE_AFTER;
        }
        break;
    case HELD:
    case WON:
        f->frame += f->frame < 200;
        if (f->state == WON && f->y < GROUND)
            fly(f);
        break;
    }
    if (f->x < LEFT_WALL)
        f->x = LEFT_WALL;
    if (f->x > RIGHT_WALL)
        f->x = RIGHT_WALL;
}

u8 fighter_grabbable(const struct fighter *f)
{
    return f->y == GROUND && !f->safe && !fighter_untouchable(f) && (f->state == FREE || f->state == ATTACK || f->state == RISING_UP || f->state == LANDING);
}

u8 fighter_untouchable(const struct fighter *f)
{
    return f->move == MOVE_RISING && f->frame < RISING_SAFE;
}

u8 fighter_actionable(const struct fighter *f) { return f->state == FREE || (f->state == AIR && !f->move); }

u8 fighter_guards(const struct fighter *f, const struct fighter *other, u8 flags)
{
    u16 back = f->x < other->x || (f->x == other->x && f->faces_right) ? PAD_LEFT : PAD_RIGHT;
    if ((f->state != FREE && f->state != BLOCK) || !(f->input.held & back))
        return 0;
    u8 low = (f->input.held & PAD_DOWN) != 0;
    return low ? !(flags & HIT_HIGH) : !(flags & HIT_LOW);
}

u16 fighter_status(const struct fighter *f)
{
    switch (f->state) {
    case FREE:
    case WON:
        return f->crouches ? STATUS_CROUCH : STATUS_STAND;
    case RISING_UP:
    case LANDING:
        return STATUS_JUMP;
    case AIR:
        return f->move ? STATUS_ATTACK : STATUS_JUMP;
    case ATTACK:
        return f->move == MOVE_PROJECTILE || f->move == MOVE_RISING ? STATUS_SPECIAL : STATUS_ATTACK;
    case BLOCK:
        return STATUS_BLOCK;
    default:
        return STATUS_HIT;
    }
}
