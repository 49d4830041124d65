/** Counter by reason, cheap enough for every message. Reasons come from code, not from devices: the map stays small. */
export class Counter {
  readonly #counts: Map<string, number>

  /** `reasons` are reported as 0 before they occur. */
  constructor(reasons: readonly string[] = []) {
    this.#counts = new Map(reasons.map((reason) => [reason, 0]))
  }

  add(reason: string, count = 1): void {
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + count)
  }

  get(reason: string): number {
    return this.#counts.get(reason) ?? 0
  }

  entries(): [reason: string, count: number][] {
    return [...this.#counts]
  }
}
