import { fileURLToPath } from 'node:url'
import type { BenchProcess, Workbench } from './processes.ts'

/** What a script does when its parent asks; arguments and results are copied from one process to the other. */
type Functions = Record<string, (...args: never[]) => unknown>

interface Call {
  /** null for one without an answer. */
  id: number | null
  name: string
  args: never[]
}

interface Answer {
  id: number
  result: unknown
}

/**
 * Makes this process answer its parent's calls until the parent ends, however it ends. A function that throws ends the
 * process, with the reason on stderr: a benchmark is not to go on without one of its parts. Returns the functions,
 * whose type is what a `ForkedScript` of them needs.
 */
export function answerCalls<F extends Functions>(functions: F): F {
  const answer = async ({ id, name, args }: Call) => {
    const result = await functions[name]?.(...args)
    if (id !== null) process.send?.({ id, result } satisfies Answer)
  }
  process.on('disconnect', () => process.exit(0))
  process.on('message', (message) => {
    // the parent is a ForkedScript, and sends nothing else
    answer(message as Call).catch((error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
      process.exit(1)
    })
  })
  return functions
}

/** A script in a process of its own that answers calls: `F` is the type of what it gives to `answerCalls`. */
export class ForkedScript<F extends Functions> {
  readonly #process: BenchProcess
  readonly #limitMs: number
  readonly #waiting = new Map<number, (result: unknown) => void>()
  #lastId = 0

  /** Every call must be answered within `limitMs`. */
  constructor(bench: Workbench, name: string, script: URL, limitMs = 300_000) {
    this.#limitMs = limitMs
    this.#process = bench.fork(name, fileURLToPath(script), (message) => {
      // the script sends nothing but the answers of answerCalls
      const { id, result } = message as Answer
      this.#waiting.get(id)?.(result)
    })
  }

  get pid(): number {
    return this.#process.pid
  }

  /** Rejects when the process ends before it answers, or the time is up. */
  async call<Name extends keyof F & string>(
    name: Name,
    ...args: Parameters<F[Name]>
  ): Promise<Awaited<ReturnType<F[Name]>>> {
    const id = ++this.#lastId
    const answered = new Promise<unknown>((resolve) => this.#waiting.set(id, resolve))
    this.#process.send({ id, name, args })
    try {
      // it is what the function of this name returned
      return (await this.#process.before(name, this.#limitMs, answered)) as Awaited<ReturnType<F[Name]>>
    } finally {
      this.#waiting.delete(id)
    }
  }

  /** Calls and does not wait for an answer. */
  tell<Name extends keyof F & string>(name: Name, ...args: Parameters<F[Name]>): void {
    this.#process.send({ id: null, name, args })
  }

  stop(): Promise<void> {
    return this.#process.stop()
  }

  /** Ends it at once and does not wait. */
  kill(): void {
    this.#process.killNow()
  }
}
