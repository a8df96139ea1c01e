// Tells Python once for every drawing that it is time. A clock that is wound again, or is taken off the page, is stopped.

const clocks = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  const clock = clocks.get(parentElement) ?? {};
  clocks.set(parentElement, clock);
  if (clock.turn !== data.turn) {
    clearTimeout(clock.timer);
    clock.turn = data.turn;
    clock.timer = setTimeout(() => setTriggerValue("due", true), 1000 * data.seconds);
  }
  return () => {
    clearTimeout(clock.timer);
    clock.turn = null;
  };
}
