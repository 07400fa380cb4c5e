"""Mass on a cylinder on a gas accumulator.

Cylinder     dp/dt = β/(V_0 + A·x)·(−q − A·v)
Orifice      q through the neck, two-regime; then the orifice of the accumulator itself, turbulent
Gas          p_g = p₀·(V₀/(V₀ − V))ⁿ,  dV/dt = q
Mass         m·dv/dt = A·(p − p_amb) − F₀ − B·v − m·g − F

Two variants: with the orifice in the accumulator and without it. With it both orifices carry the
same flow: p − p_g = Δp(q) + q·|q|/K², solved for q.
"""

import math

import numpy as np
from common import ATMOSPHERE, BAR, GRAVITY, agreement, integrate, orifice, write
from scipy.optimize import brentq

DENSITY, VISCOSITY, BULK = 870.0, 30e-6, 1.4e9
AREA, DEAD = math.pi / 4 * 0.063**2, 100e-6
VISCOUS, MASS, PRELOAD = 300.0, 2000.0, 100.0
GAS, PRECHARGE, EXPONENT = 2e-3, 40 * BAR, 1.3
K = 0.67 * math.pi / 4 * 0.008**2 * math.sqrt(2 / DENSITY)


def plain(drop):
    """Flow through the neck alone."""
    return orifice(K, drop, DENSITY, VISCOSITY)


def in_series(drop):
    """Flow through both orifices."""
    size = abs(drop)
    if size == 0.0:
        return 0.0

    def balance(first):
        return first + (plain(first) / K) ** 2 - size

    first = brentq(balance, 0.0, size, xtol=1e-16 * size + 1e-300, rtol=1e-15)
    return math.copysign(plain(first), drop)


def rates(flow):
    def of(t, y):
        pressure, oil, x, v = y
        gas = PRECHARGE * (GAS / (GAS - oil)) ** EXPONENT
        q = flow(pressure - gas)
        force = AREA * (pressure - ATMOSPHERE) - PRELOAD - VISCOUS * v - MASS * GRAVITY
        return [
            BULK / (DEAD + AREA * x) * (-q - AREA * v),
            q,
            v,
            (force - 3000 * math.sin(2 * math.pi * 0.7 * t)) / MASS,
        ]

    return of


def main():
    pressure = ATMOSPHERE + (MASS * GRAVITY + PRELOAD) / AREA
    oil = GAS * (1 - (PRECHARGE / pressure) ** (1 / EXPONENT))
    start = [pressure, oil, 0.3, 0.0]
    scale = np.array([1e7, 1e-3, 0.1, 0.1])
    times = np.linspace(0, 3, 201)
    header = ["t", "load.x", "load.v", "cylinder.a.pressure", "accumulator.gas_pressure"]
    for name, flow in [("accumulator", plain), ("accumulator_throttled", in_series)]:
        of = rates(flow)
        result = integrate(of, start, times, 1e-11 * scale)
        coarse = integrate(of, start, times, 1e-9 * scale, relative=1e-8)
        print(name, "own error", agreement(coarse, result))
        gas = PRECHARGE * (GAS / (GAS - result[:, 1])) ** EXPONENT
        write(name, header, [times, *result[:, [2, 3, 0]].T, gas])


main()
