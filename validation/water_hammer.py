"""Water hammer by the method of characteristics, friction laminar and spread along the pipe.

Along dx/dt = ±a:  dp ± ρ·a/A·dq ± R'·q·a·dt = 0,  R' = 32·ρ·ν/(d²·A) per length

The friction term by the trapezoidal rule along each characteristic; grid with a·Δt = Δx exactly.
Gate: two-regime orifice to tank. Reservoir: constant pressure. It starts in the steady state.
Three grids, the finest is kept; the script prints how far neighbours are apart (1.3e-5 of the range
between the two finest: the kinks of the closing ramp fall between grid and samples).
"""

import math

import numpy as np
from common import ATMOSPHERE, BAR, orifice, write
from scipy.optimize import brentq

DENSITY, BULK = 870.0, 1.6e9
LENGTH, BORE = 50.0, 0.025
AREA = math.pi / 4 * BORE**2
SOUND = math.sqrt(BULK / DENSITY)
RESERVOIR = 50 * BAR
K = 0.67 * 20e-6 * math.sqrt(2 / DENSITY)
STOP, SAMPLES = 0.5, 201


def opening(t):
    return float(np.interp(t, [0, 0.05, 0.09, 1], [1, 1, 0, 0]))


def gate_pressure(wave, impedance, share, viscosity):
    """Pressure with p = wave − impedance·q at the pipe and q through the gate."""
    def balance(p):
        return wave - impedance * orifice(K * share, p - ATMOSPHERE, DENSITY, viscosity) - p

    if share <= 0:
        return wave
    low, high = min(wave, ATMOSPHERE), max(wave, ATMOSPHERE)
    return brentq(balance, low, high, xtol=1e-6, rtol=1e-15)


def hammer(reaches, viscosity):
    """Times, pressure at the gate, flow from the reservoir."""
    dt = LENGTH / SOUND / reaches
    z = DENSITY * SOUND / AREA
    half = 32 * DENSITY * viscosity / (BORE**2 * AREA) * (LENGTH / reaches) / 2
    resistance = 2 * half * reaches
    gate = gate_pressure(RESERVOIR, resistance, 1.0, viscosity)
    q0 = (RESERVOIR - gate) / resistance
    p = np.linspace(RESERVOIR, gate, reaches + 1)
    q = np.full(reaches + 1, q0)
    times, at_gate, from_reservoir = [0.0], [p[-1]], [q0]
    steps = int(STOP / dt) + 4
    for n in range(1, steps + 1):
        forward = p + (z - half) * q  # leaves each point towards the gate
        backward = p - (z - half) * q
        new_p, new_q = np.empty_like(p), np.empty_like(q)
        plus, minus = forward[:-2], backward[2:]
        new_p[1:-1] = (plus + minus) / 2
        new_q[1:-1] = (plus - minus) / (2 * (z + half))
        new_p[0] = RESERVOIR
        new_q[0] = (RESERVOIR - backward[1]) / (z + half)
        new_p[-1] = gate_pressure(forward[-2], z + half, opening(n * dt), viscosity)
        new_q[-1] = (forward[-2] - new_p[-1]) / (z + half)
        p, q = new_p, new_q
        times.append(n * dt)
        at_gate.append(p[-1])
        from_reservoir.append(q[0])
    return np.array(times), np.array(at_gate), np.array(from_reservoir)


def sampled(reaches, viscosity):
    wanted = np.linspace(0, STOP, SAMPLES)
    times, pressure, flow = hammer(reaches, viscosity)
    return np.array([np.interp(wanted, times, pressure), np.interp(wanted, times, flow)])


def main():
    wanted = np.linspace(0, STOP, SAMPLES)
    columns, header = [wanted], ["t"]
    for name, viscosity in [("30", 30e-6), ("120", 120e-6)]:
        grids = [sampled(reaches, viscosity) for reaches in (1000, 2000, 4000)]
        span = np.ptp(grids[0], axis=1)
        print(name, [np.max(np.abs(a - b), axis=1) / span for a, b in zip(grids, grids[1:])])
        columns += list(grids[-1])
        header += [f"gate.inlet.pressure@{name}", f"reservoir.flow@{name}"]
    write("water_hammer", header, columns)


main()
