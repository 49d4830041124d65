import { parse } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BenchProcess, Workbench } from './processes.ts'

/** Functions of a script that its parent process calls; arguments and results are copied between the processes. */
type Functions = Record<string, (...args: never[]) => unknown>

interface Call {
  /** Null for a call without a response. */
  id: number | null
  name: string
  args: never[]
}

interface Answer {
  id: number
  result: unknown
}

/**
 * Answers the parent's calls until the parent ends, in whatever way. A function that throws ends this process, with the
 * reason on stderr: a benchmark needs all its processes. Returns the functions, whose type a `ForkedScript` needs.
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

/** Script in a child process that answers calls: `F` is the type of the functions it passes to `answerCalls`. */
export class ForkedScript<F extends Functions> {
  readonly #process: BenchProcess
  readonly #limitMs: number
  readonly #waiting = new Map<number, (result: unknown) => void>()
  #lastId = 0

  /** Every call must be answered within `limitMs`. */
  constructor(bench: Workbench, script: URL, limitMs = 300_000) {
    this.#limitMs = limitMs
    const path = fileURLToPath(script)
    this.#process = bench.fork(parse(path).name, path, (message) => {
      // the script sends only the responses of answerCalls
      const { id, result } = message as Answer
      this.#waiting.get(id)?.(result)
    })
  }

  get pid(): number {
    return this.#process.pid
  }

  /** Rejects if the process ends before it answers, or the limit expires. */
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

  /** Calls without waiting for a response. */
  post<Name extends keyof F & string>(name: Name, ...args: Parameters<F[Name]>): void {
    this.#process.send({ id: null, name, args })
  }

  stop(): Promise<void> {
    return this.#process.stop()
  }

  /** Kills the process immediately, without waiting for its end. */
  kill(): void {
    this.#process.killNow()
  }
}
