/* Circuit 2 with CVODE: a flow control valve with a small volume (Malysheva, thesis, LUT University,
 * 2021, equations 2.22-2.30, Tables 2.2 and 2.3), written without Fluxline.
 *
 * BDF, dense Newton, analytic Jacobian. Inputs are piecewise constant: integration begins anew at
 * each jump, and where the throttle meets its stop or the compensator a limit. Time is taken around
 * the integration alone, with the interpolation of the samples, without reading and writing. */

#include <cvode/cvode.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <time.h>

enum { P1, P2, K, KT, W, STATES }; /* W is the rate of KT */
enum { AT_MINIMUM, AT_MAXIMUM, AT_ZERO, ROOTS };

static const double BULK = 1.5e9, V2 = 1e-3, TANK = 0.0, ORIFICE = 5.62e-7, DIRECTIONAL = 5.73e-7;
static const double C1 = 4.65e7, C2 = -1.79e4, C3 = 4e11, C5 = 1.02e6, C6 = 5.26e-7, C7 = 200.0,
                    C8 = 0.45, C9 = 1.2;
static const double K_MAX = 1e-6, KT_MIN = 1e-7;
/* Sizes of change that matter, for the absolute tolerances: 1 bar and a hundredth of full opening;
 * the rate of the throttle moves at C7 = 200 1/s. */
static const double NOMINAL[STATES] = {1e5, 1e5, 1e-8, 1e-8, 2e-6};

typedef struct {
    double time, supply, voltage, open;
} Input;

typedef struct {
    double volume;
    Input now;
} Circuit;

/* sqrt|d| with the sign of d, and its slope. */
static double root(double drop) { return copysign(sqrt(fabs(drop)), drop); }
static double slope(double drop) { return 0.5 / sqrt(fmax(fabs(drop), 1e-12)); }

static double held(double coefficient) { return fmin(fmax(coefficient, 0.0), K_MAX); }
static int is_within(double coefficient) { return coefficient > 0.0 && coefficient < K_MAX; }

/* Rate of the compensator before its limits. */
static double push(const Circuit *c, const double *x)
{
    return (C5 - x[P1] + x[P2] - (C1 + C2 * (c->now.supply - x[P1])) * held(x[K])) / C3;
}

static int is_held(const double *x, double rate)
{
    return (x[K] <= 0.0 && rate < 0.0) || (x[K] >= K_MAX && rate > 0.0);
}

static double acceleration(const Circuit *c, const double *x)
{
    return C7 * C7 * (C6 * (c->now.voltage - C9) - x[KT]) - 2.0 * C8 * C7 * x[W];
}

static int is_seated(const double *x, double accelerated)
{
    return x[KT] <= KT_MIN && x[W] <= 0.0 && accelerated < 0.0;
}

static int rates(realtype t, N_Vector state, N_Vector rate, void *data)
{
    const Circuit *c = data;
    const double *x = N_VGetArrayPointer(state);
    double *f = N_VGetArrayPointer(rate);
    (void)t;
    double in = held(x[K]) * root(c->now.supply - x[P1]);
    double through = fmax(x[KT], KT_MIN) * root(x[P1] - x[P2]);
    double out = (ORIFICE + c->now.open * DIRECTIONAL) * root(x[P2] - TANK);
    f[P1] = BULK / c->volume * (in - through);
    f[P2] = BULK / V2 * (through - out);
    double pushed = push(c, x);
    f[K] = is_held(x, pushed) ? 0.0 : pushed;
    double accelerated = acceleration(c, x);
    int seated = is_seated(x, accelerated);
    f[KT] = seated ? 0.0 : x[W];
    f[W] = seated ? 0.0 : accelerated;
    return 0;
}

static int jacobian(realtype t, N_Vector state, N_Vector rate, SUNMatrix matrix, void *data,
                    N_Vector t1, N_Vector t2, N_Vector t3)
{
    const Circuit *c = data;
    const double *x = N_VGetArrayPointer(state);
    (void)t, (void)rate, (void)t1, (void)t2, (void)t3;
    double in = c->now.supply - x[P1], over = x[P1] - x[P2], out = x[P2] - TANK;
    double throttle = fmax(x[KT], KT_MIN), per_v1 = BULK / c->volume, per_v2 = BULK / V2;
    double g_in = held(x[K]) * slope(in), g_over = throttle * slope(over);
    double g_out = (ORIFICE + c->now.open * DIRECTIONAL) * slope(out);
    double by_k = is_within(x[K]) ? root(in) : 0.0, by_kt = x[KT] > KT_MIN ? root(over) : 0.0;
    SUNMatZero(matrix);
    SM_ELEMENT_D(matrix, P1, P1) = -per_v1 * (g_in + g_over);
    SM_ELEMENT_D(matrix, P1, P2) = per_v1 * g_over;
    SM_ELEMENT_D(matrix, P1, K) = per_v1 * by_k;
    SM_ELEMENT_D(matrix, P1, KT) = -per_v1 * by_kt;
    SM_ELEMENT_D(matrix, P2, P1) = per_v2 * g_over;
    SM_ELEMENT_D(matrix, P2, P2) = -per_v2 * (g_over + g_out);
    SM_ELEMENT_D(matrix, P2, KT) = per_v2 * by_kt;
    if (!is_held(x, push(c, x))) {
        SM_ELEMENT_D(matrix, K, P1) = (-1.0 + C2 * held(x[K])) / C3;
        SM_ELEMENT_D(matrix, K, P2) = 1.0 / C3;
        SM_ELEMENT_D(matrix, K, K) = is_within(x[K]) ? -(C1 + C2 * in) / C3 : 0.0;
    }
    if (!is_seated(x, acceleration(c, x))) {
        SM_ELEMENT_D(matrix, KT, W) = 1.0;
        SM_ELEMENT_D(matrix, W, KT) = -C7 * C7;
        SM_ELEMENT_D(matrix, W, W) = -2.0 * C8 * C7;
    }
    return 0;
}

static int limits(realtype t, N_Vector state, realtype *distance, void *data)
{
    const double *x = N_VGetArrayPointer(state);
    (void)t, (void)data;
    distance[AT_MINIMUM] = x[KT] - KT_MIN;
    distance[AT_MAXIMUM] = x[K] - K_MAX;
    distance[AT_ZERO] = x[K];
    return 0;
}

typedef struct {
    double rtol, interval, stop, volume;
    const char *inputs, *output;
} Options;

typedef struct {
    long steps, evaluations, jacobians, iterations, restarts;
    double seconds;
} Work;

static void fail(const char *what, const char *which)
{
    fprintf(stderr, "circuit2: %s%s%s\n", what, which[0] ? ": " : "", which);
    exit(1);
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        fail("not enough memory", "");
    return memory;
}

static void check(int flag, const char *what)
{
    if (flag < 0)
        fail("CVODE refuses", what);
}

/* Lines "time supply voltage open", SI units and volts; the values hold from that time on. Lines
 * that begin with # are skipped. */
static size_t read_inputs(const char *path, Input **inputs)
{
    FILE *file = fopen(path, "r");
    if (!file)
        fail("cannot read the inputs", path);
    char line[512];
    size_t count = 0, room = 64;
    *inputs = allocate(room, sizeof **inputs);
    while (fgets(line, sizeof line, file)) {
        Input one;
        for (char *c = line; *c; c++)
            if (*c == ',' || *c == ';')
                *c = ' ';
        if (line[0] == '#' || line[strspn(line, " \t\r\n")] == '\0')
            continue;
        if (sscanf(line, "%lf %lf %lf %lf", &one.time, &one.supply, &one.voltage, &one.open) != 4)
            fail("not four numbers in a line of the inputs", line);
        if (count && one.time <= (*inputs)[count - 1].time)
            fail("times of the inputs do not increase", line);
        if (count == room) {
            room *= 2;
            *inputs = realloc(*inputs, room * sizeof **inputs);
            if (!*inputs)
                fail("not enough memory", "");
        }
        (*inputs)[count++] = one;
    }
    fclose(file);
    if (!count)
        fail("no inputs", path);
    return count;
}

/* Adds what was done since the last restart: CVODE begins its counts anew. */
static void add_up(void *cvode, Work *work)
{
    long steps, evaluations, jacobians, iterations;
    CVodeGetNumSteps(cvode, &steps);
    CVodeGetNumRhsEvals(cvode, &evaluations);
    CVodeGetNumJacEvals(cvode, &jacobians);
    CVodeGetNumNonlinSolvIters(cvode, &iterations);
    work->steps += steps;
    work->evaluations += evaluations;
    work->jacobians += jacobians;
    work->iterations += iterations;
}

static void restart(void *cvode, double time, N_Vector state, Work *work)
{
    add_up(cvode, work);
    work->restarts++;
    check(CVodeReInit(cvode, time, state), "to begin anew");
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static Work integrate(const Options *o, const Input *inputs, size_t input_count, double *samples,
                      size_t sample_count)
{
    Work work = {0};
    SUNContext context;
    if (SUNContext_Create(NULL, &context))
        fail("SUNDIALS has no context", "");
    N_Vector state = N_VNew_Serial(STATES, context), absolute = N_VNew_Serial(STATES, context);
    N_Vector within = N_VNew_Serial(STATES, context);
    SUNMatrix matrix = SUNDenseMatrix(STATES, STATES, context);
    SUNLinearSolver solver = SUNLinSol_Dense(state, matrix, context);
    void *cvode = CVodeCreate(CV_BDF, context);
    if (!state || !absolute || !within || !matrix || !solver || !cvode)
        fail("not enough memory", "");
    double *x = N_VGetArrayPointer(state);
    const double start[STATES] = {1.02e6, 3.69e3, 5e-11, KT_MIN, 0.0};
    for (int i = 0; i < STATES; i++) {
        x[i] = start[i];
        NV_Ith_S(absolute, i) = o->rtol * NOMINAL[i];
    }
    Circuit circuit = {o->volume, inputs[0]};
    check(CVodeInit(cvode, rates, 0.0, state), "to begin");
    check(CVodeSVtolerances(cvode, o->rtol, absolute), "the tolerances");
    check(CVodeSetUserData(cvode, &circuit), "the circuit");
    check(CVodeSetLinearSolver(cvode, solver, matrix), "the linear solver");
    check(CVodeSetJacFn(cvode, jacobian), "the Jacobian");
    /* Falling to the stop, rising to the maximum, falling to zero; leaving needs no restart. */
    int directions[ROOTS] = {-1, 1, -1};
    check(CVodeRootInit(cvode, ROOTS, limits), "the limits");
    check(CVodeSetRootDirection(cvode, directions), "the directions");
    check(CVodeSetNoInactiveRootWarn(cvode), "to be quiet");
    check(CVodeSetMaxNumSteps(cvode, 100000000), "the number of steps");

    double begin = now(), time = 0.0;
    size_t next = 1, sample = 0;
    samples[sample++] = x[P1];
    while (next < input_count && inputs[next].time <= 0.0)
        circuit.now = inputs[next++];
    while (sample < sample_count) {
        double jump = next < input_count ? inputs[next].time : INFINITY;
        check(CVodeSetStopTime(cvode, fmin(jump, o->stop + o->interval)), "the next jump");
        int flag = CVode(cvode, o->stop + o->interval, state, &time, CV_ONE_STEP);
        if (flag < 0)
            fail("the integration stops", CVodeGetReturnFlagName(flag));
        /* Samples within the step; one within rounding of its end is taken there. */
        for (double at; sample < sample_count; sample++) {
            at = (double)sample * o->interval;
            if (at > time * (1.0 + 1e-12))
                break;
            if (at >= time) {
                samples[sample] = x[P1];
            } else {
                check(CVodeGetDky(cvode, at, 0, within), "to interpolate");
                samples[sample] = NV_Ith_S(within, P1);
            }
        }
        if (flag == CV_ROOT_RETURN) {
            int found[ROOTS];
            CVodeGetRootInfo(cvode, found);
            if (found[AT_MINIMUM]) {
                x[KT] = KT_MIN;
                x[W] = 0.0;
            }
            if (found[AT_MAXIMUM])
                x[K] = K_MAX;
            if (found[AT_ZERO])
                x[K] = 0.0;
            restart(cvode, time, state, &work);
        } else if (time >= jump * (1.0 - 1e-15)) {
            circuit.now = inputs[next++];
            restart(cvode, time, state, &work);
        }
    }
    work.seconds = now() - begin;
    add_up(cvode, &work);
    CVodeFree(&cvode);
    SUNLinSolFree(solver);
    SUNMatDestroy(matrix);
    N_VDestroy(state);
    N_VDestroy(absolute);
    N_VDestroy(within);
    SUNContext_Free(&context);
    return work;
}

static void write_samples(const char *path, const double *samples, size_t count, double interval)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        fail("cannot write", path);
    size_t length = strlen(path);
    int bad = 0;
    if (length > 4 && !strcmp(path + length - 4, ".csv")) {
        bad |= fprintf(file, "time,p1\n") < 0;
        for (size_t i = 0; i < count; i++)
            bad |= fprintf(file, "%.10g,%.17g\n", (double)i * interval, samples[i]) < 0;
    } else {
        bad |= fwrite(samples, sizeof *samples, count, file) != count;
    }
    if (fclose(file) || bad)
        fail("cannot write", path);
}

static double number(const char *name, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (*end || !(value > 0.0) || isinf(value))
        fail("not a positive number", name);
    return value;
}

int main(int argc, char **argv)
{
    Options o = {1e-5, 1e-4, 40.5, 1e-5, NULL, NULL};
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i];
        if (i + 1 == argc)
            fail("a value is missing for", name);
        if (!strcmp(name, "--inputs"))
            o.inputs = argv[i + 1];
        else if (!strcmp(name, "--output"))
            o.output = argv[i + 1];
        else if (!strcmp(name, "--rtol"))
            o.rtol = number(name, argv[i + 1]);
        else if (!strcmp(name, "--interval"))
            o.interval = number(name, argv[i + 1]);
        else if (!strcmp(name, "--stop"))
            o.stop = number(name, argv[i + 1]);
        else if (!strcmp(name, "--volume"))
            o.volume = number(name, argv[i + 1]);
        else
            fail("unknown option", name);
    }
    if (!o.inputs)
        fail("no --inputs FILE", "");
    Input *inputs;
    size_t input_count = read_inputs(o.inputs, &inputs);
    size_t sample_count = (size_t)floor(o.stop / o.interval * (1.0 + 1e-12)) + 1;
    double *samples = allocate(sample_count, sizeof *samples);
    Work work = integrate(&o, inputs, input_count, samples, sample_count);
    printf("seconds=%.9f\nsteps=%ld\nevaluations=%ld\njacobians=%ld\niterations=%ld\n"
           "restarts=%ld\nsamples=%zu\n",
           work.seconds, work.steps, work.evaluations, work.jacobians, work.iterations,
           work.restarts, sample_count);
    if (o.output)
        write_samples(o.output, samples, sample_count, o.interval);
    free(samples);
    free(inputs);
    return 0;
}
