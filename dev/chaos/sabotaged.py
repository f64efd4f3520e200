"""Shows that the harness notices what the protocol is for: a binary that leaves the intents out has to fail."""

from .plan import Plan
from .run import run as run_once


def run(services, options, product):
    """The exit code: 0 once a run has doubled something."""
    for number in range(options.runs):
        plan = Plan(options.first_seed + number, options.scenario)
        world, outcome = run_once(services, plan, product, allow_doubled=False)
        print(outcome.text(), end="", flush=True)
        world.forget()
        if outcome.verdict.doubled:
            print(f"noticed: {outcome.verdict.doubled} doubled\n1 passed, 0 failed")
            return 0
    print(f"NOT NOTICED in {options.runs} runs\n0 passed, 1 failed")
    return 1
