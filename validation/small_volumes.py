"""Circuits of Åman (thesis, Lappeenranta University of Technology, 2011), chapter 3.

Run-off volume (3.1) in closed form; cylinder drive (3.2–3.9) with Tables 3.1 and 3.3; two-way flow
control valve, full (3.13) and reduced (3.20), with Table 3.4 and C₃ = 4e11.
"""

import math

import numpy as np

from common import agreement, integrate, orifice, write

DENSITY, VISCOSITY, DISCHARGE = 900.0, 30e-6, 0.6


def coefficient(area):
    return DISCHARGE * area * math.sqrt(2 / DENSITY)


def round_coefficient(diameter):
    return coefficient(math.pi / 4 * diameter**2)


def two_regime(k, drop):
    return orifice(k, drop, DENSITY, VISCOSITY, DISCHARGE)


def turbulent(k, drop):
    return math.copysign(k * math.sqrt(abs(drop)), drop)


def run_off(times, volume=1e-3, bulk=1.5e9, start=1e7, diameter=9e-3, reynolds=1000.0):
    """√p falls at a constant rate down to Δp₀; then p' = −(a·p − b·p³), a Bernoulli equation:
    1/p² = b/a + (1/Δp₀² − b/a)·e^(2at)."""
    k = round_coefficient(diameter)
    transition = reynolds**2 * VISCOSITY**2 * math.pi * math.sqrt(DENSITY) / (math.sqrt(32) * DISCHARGE * k)
    fall = bulk / volume * k / 2
    changes = (math.sqrt(start) - math.sqrt(transition)) / fall
    a = bulk / volume * 5 * k / (4 * math.sqrt(transition))
    b = bulk / volume * k / (4 * transition**2.5)
    late = 1 / np.sqrt(b / a + (transition**-2 - b / a) * np.exp(2 * a * np.clip(times - changes, 0, 0.1)))
    return np.where(times < changes, (math.sqrt(start) - fall * np.minimum(times, changes)) ** 2, late)


def drive(times, relative, law, bulk, v1, v2, diameter, spring):
    """p₁, p₂, x, v above the surroundings."""
    area = math.pi / 4 * 0.06**2
    slot, second = coefficient(5e-4 * math.pi * 1e-2), round_coefficient(diameter)

    def rates(t, s):
        p1, p2, x, v = s
        q1, q2 = law(slot, 1e7 - p1), law(second, p1 - p2)
        return [
            bulk / v1 * (q1 - q2),
            bulk / v2 * (q2 - area * v),
            v,
            (p2 * area - 500.0 * v - spring * x) / 5000.0,
        ]

    scale = 1e7 * area / spring
    absolute = relative * np.array([1e4, 1e4, 1e-2 * scale, 1e-1 * scale])
    return integrate(rates, [0, 0, 0, 0], times, absolute, relative=relative)


def flow_control(times, relative, volume):
    """p₁ and K; p₂ above the tank."""
    c1, c2, c3, c5 = 4.65e7, -1.79e4, 4e11, 1.02e6
    kt, k1, k2 = (round_coefficient(d) for d in (1e-4, 1e-3, 5e-3))
    bulk, v2 = 1e9, 1e-3

    def rates(t, s, supply, is_open):
        p2, k = s[0], s[1]
        p1 = s[2] if volume else (k**2 * supply + kt**2 * p2) / (k**2 + kt**2)
        through = turbulent(kt, p1 - p2)
        out = two_regime(k1, p2) + is_open * two_regime(k2, p2)
        f = [bulk / v2 * (through - out), (c5 - p1 + p2 - (c1 + c2 * (supply - p1)) * k) / c3]
        return f + [bulk / volume * (turbulent(k, supply - p1) - through)] if volume else f

    absolute = relative * np.array([1e2, 1e-12, 1e4])[: 3 if volume else 2]
    parts = [(0.0, 0.02, 1e7, 1), (0.02, 0.04, 2e7, 1), (0.04, 0.07, 2e7, 0), (0.07, 0.1, 2e7, 1)]
    state, rows = [3.69e3, 5e-11, 1.02e6][: 3 if volume else 2], []
    for begin, end, supply, is_open in parts:
        inside = [t for t in times if begin - 1e-12 <= t <= end + 1e-12]
        f = lambda t, s: rates(t, s, supply, is_open)
        part = integrate(f, state, inside, absolute, relative=relative)
        assert part[:, 1].min() > 0
        rows += list(part[1 if rows else 0 :])
        state = part[-1]
    rows = np.array(rows)
    if not volume:  # where the supply jumps p₁ does: its value is that after the jump
        supply = np.where(np.asarray(times) < 0.02 - 1e-12, 1e7, 2e7)
        p2, k = rows.T
        rows = np.column_stack([rows, (k**2 * supply + kt**2 * p2) / (k**2 + kt**2)])
    return rows


def rk4_limit(diameter):
    """Largest stable step of RK4 for the cylinder drive of Table 3.1 at rest, s."""
    area, bulk, volume = math.pi / 4 * 0.06**2, 1.5e9, 3e-3

    def laminar(k):
        small = 1e-3
        return two_regime(k, small) / small

    g1 = laminar(coefficient(5e-4 * math.pi * 1e-2))
    g2 = laminar(round_coefficient(diameter))
    c = bulk / volume
    jacobian = np.array(
        [
            [-c * (g1 + g2), c * g2, 0, 0],
            [c * g2, -c * g2, 0, -c * area],
            [0, 0, 0, 1],
            [0, area / 5000, -180e3 / 5000, -500 / 5000],
        ]
    )
    eigenvalues = np.linalg.eigvals(jacobian)

    def stable(h):
        z = h * eigenvalues
        return np.all(np.abs(1 + z + z**2 / 2 + z**3 / 6 + z**4 / 24) <= 1)

    steps = np.arange(1e-4, 4e-3, 1e-6)
    return max(h for h in steps if all(stable(s) for s in steps[steps <= h][-50:]))


if __name__ == "__main__":
    for diameter, known in ((1e-3, 2.352), (2e-3, 2.168), (3e-3, 1.717)):
        print(f"RK4 is stable up to {rk4_limit(diameter) * 1e3:.3f} ms ({known})")

    times = np.arange(401) * 1e-5
    write("run_off", ["time", "volume.pressure"], [times, run_off(times) + 101325.0])

    names = ["time", "volume1.pressure", "volume2.pressure", "piston.x", "piston.v"]
    base = np.array([2e6, 2e6, 0, 0])
    times = np.round(np.arange(1001) * 2e-3, 9)
    first = lambda r: drive(times, r, two_regime, 1.5e9, 3e-3, 3e-3, 3e-3, 180e3)
    rows = first(1e-11)
    print("cylinder drive, two tolerances:", agreement(rows, first(1e-9)))
    write("cylinder_drive", names, [times, *(rows + base).T])

    times = np.round(np.arange(501) * 1e-3, 9)
    second = lambda r: drive(times, r, turbulent, 1e9, 1e-3, 1e-5, 1e-3, 18e6)
    rows = second(1e-10)
    print("small volume, two tolerances:", agreement(rows, second(1e-9)))
    write("cylinder_drive_small_volume", names, [times, *(rows + base).T])

    names = ["time", "volume.pressure", "valve.compensator", "valve.chamber_pressure"]
    base = np.array([1e5, 0, 1e5])
    times = np.round(np.arange(1001) * 1e-4, 9)
    for volume, name in ((1e-5, "flow_control_valve"), (0.0, "flow_control_valve_reduced")):
        rows = flow_control(times, 1e-11, volume)
        print(name, "two tolerances:", agreement(rows, flow_control(times, 1e-9, volume)))
        write(name, names, [times, *(rows + base).T])
