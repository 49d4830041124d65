/** A part of a program: constructing it only assigns, `start()` acts, `stop()` undoes it and may be called twice. */
export interface Part {
  start(): Promise<void>
  stop(): Promise<void>
}

/** Starts parts in order, each as far as it has something to start; if one fails, stops those that did start, newest first, and throws its error. */
export async function startAll(parts: readonly Partial<Part>[]): Promise<void> {
  const started: Partial<Part>[] = []
  for (const part of parts) {
    try {
      started.push(part)
      await part.start?.()
    } catch (error) {
      await stopAll(started)
      throw error
    }
  }
}

/** Stops parts, last first, all of them even if one fails; then throws the first error. */
export async function stopAll(parts: readonly Partial<Part>[]): Promise<void> {
  const errors: unknown[] = []
  for (const part of parts.toReversed()) {
    try {
      await part.stop?.()
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
}
