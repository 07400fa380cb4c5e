"""Valve-controlled cylinder, open loop and as a position servo.

Pump      q = D·ω − G·Δp,  G = D·ω_n·(1 − η_v)/Δp_n
Relief    q = G_r·(Δp − p_c) above p_c
Supply    dp/dt = β/V·Σq
Valve     q = K·opening/(1 − lap)·√Δp,  opening = max(±x − lap, 0),  K = q_n/√Δp_n
Spool     ẍ = ω²·(u − x) − 2δω·ẋ
Cylinder  dp_a/dt = β/(V_a + A_a·x)·(q_a − A_a·v − G_l·(p_a − p_b)), dp_b/dt likewise
Mass      m·dv/dt = A_a·(p_a − p_amb) − A_b·(p_b − p_amb) − B·v − F
"""

import math

import numpy as np
from common import ATMOSPHERE, BAR, CM3_PER_REV, LITRE_PER_MINUTE, RPM
from common import agreement, edge, integrate, write

BULK = 1.0e9
AREA_A = math.pi / 4 * 0.04**2
AREA_B = math.pi / 4 * (0.04**2 - 0.022**2)
STROKE, DEAD = 0.4, 60e-6
LEAK = 0.02 * LITRE_PER_MINUTE / BAR
VISCOUS, MASS = 500.0, 250.0
LOAD = math.pi / 4 * 0.022**2 * (60 * BAR - ATMOSPHERE)
PUMP = 20 * CM3_PER_REV * 1500 * RPM
PUMP_LEAK = PUMP * (1 - 0.95) / (200 * BAR)
RELIEF, CRACKING = 20 * LITRE_PER_MINUTE / BAR, 120 * BAR
SUPPLY = 0.4e-3
LAP = 0.01
K = 20 * LITRE_PER_MINUTE / math.sqrt(35 * BAR) / (1 - LAP)
TRANSITION = 0.5 * BAR
OMEGA, DELTA = 2 * math.pi * 100, 0.8


def rates(command):
    def of(t, y):
        supply, a, b, x, v, spool, speed = y
        drop = supply - ATMOSPHERE
        forward, backward = max(spool - LAP, 0.0), max(-spool - LAP, 0.0)
        pa = edge(K * forward, supply - a, TRANSITION)
        bt = edge(K * forward, b - ATMOSPHERE, TRANSITION)
        pb = edge(K * backward, supply - b, TRANSITION)
        at = edge(K * backward, a - ATMOSPHERE, TRANSITION)
        fed = PUMP - PUMP_LEAK * drop - RELIEF * max(drop - CRACKING, 0.0)
        leak = LEAK * (a - b)
        push = AREA_A * (a - ATMOSPHERE) - AREA_B * (b - ATMOSPHERE)
        return [
            BULK / SUPPLY * (fed - pa - pb),
            BULK / (DEAD + AREA_A * x) * (pa - at - AREA_A * v - leak),
            BULK / (DEAD + AREA_B * (STROKE - x)) * (pb - bt + AREA_B * v + leak),
            v,
            (push - VISCOUS * v - LOAD) / MASS,
            speed,
            OMEGA**2 * (min(max(command(t, x), -1.0), 1.0) - spool) - 2 * DELTA * OMEGA * speed,
        ]

    return of


def main():
    supply = ATMOSPHERE + (RELIEF * CRACKING + PUMP) / (RELIEF + PUMP_LEAK)
    start = [supply, 60 * BAR, 60 * BAR, 0.2, 0.0, 0.0, 0.0]
    # pressures, position, velocity, spool and its velocity
    scale = np.array([1e7, 1e7, 1e7, 0.1, 0.1, 1.0, 100.0])
    loops = {
        "servo_open": (1.0, lambda t, x: 0.5 * math.sin(2 * math.pi * 2 * t)),
        "servo_closed": (
            2.0,
            lambda t, x: 25 * (0.2 + 0.08 * math.sin(2 * math.pi * 0.5 * t) - x),
        ),
    }
    for name, (stop, command) in loops.items():
        times = np.linspace(0, stop, 201)
        of = rates(command)
        result = integrate(of, start, times, 1e-11 * scale)
        coarse = integrate(of, start, times, 1e-9 * scale, relative=1e-8)
        print(name, "own error", agreement(coarse, result).max())
        header = ["t", "load.x", "load.v", "cylinder.a.pressure", "cylinder.b.pressure"]
        header += ["valve.p.pressure", "valve.x"]
        write(name, header, [times, *result[:, [3, 4, 1, 2, 0, 5]].T])


main()
