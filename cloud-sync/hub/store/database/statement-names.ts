const MAX_NAMES = 256
/** Longer ones are lists of rows, each time of another length. */
const MAX_TEXT = 600

/** Names for statements that come again and again, so that a connection prepares each of them once. */
export class StatementNames {
  readonly #names = new Map<string, string>()

  /** Undefined for one that is not worth it. */
  nameOf(text: string): string | undefined {
    const known = this.#names.get(text)
    if (known !== undefined) return known
    if (text.length > MAX_TEXT || text.includes('VALUES') || this.#names.size >= MAX_NAMES) return undefined
    const name = `hub_${this.#names.size}`
    this.#names.set(text, name)
    return name
  }
}
