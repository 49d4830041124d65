import { AsyncLocalStorage } from 'node:async_hooks'
import { EventEmitter } from 'node:events'
import { readFileSync } from 'node:fs'
import { createRequire, registerHooks, stripTypeScriptTypes, syncBuiltinESMExports } from 'node:module'
import { fileURLToPath } from 'node:url'
import Sqlite from 'better-sqlite3'
import type { Random } from '#shared/random.ts'
import { fillBytes } from './host.ts'
import { Program } from './program.ts'
import { running, type VirtualTime } from './virtual-time.ts'

const workers = createRequire(import.meta.url)('node:worker_threads')
type Run = <Result>(call: () => Result) => Result

/** Query of a module that is loaded as the code of threads: a function of the port and the data of one thread. */
const THREAD = '?thread'
const THREAD_IMPORT = /^import \{[^}]*\} from 'node:worker_threads';?$/m

const IDLE_LOOK_MS = 1_000

/** Called before a thread takes a message; returns how long it stays busy before that, in ms. */
export type Delay = (thread: string, message: unknown) => number

/** Text of a source file of the product that is replaced while the file is loaded. */
export interface Edit {
  readonly file: string
  readonly from: string
  readonly to: string
}

export interface ThreadOptions {
  readonly time: VirtualTime
  readonly random: Random
  readonly edits: readonly Edit[]
}

/** Programs of the threads that were started, until they are dead. */
export const threads = new Set<Program>()

/** Delay of each thread; replaced by faults. */
export const slowness: { delay: Delay } = { delay: () => 0 }

/** Called at the start and the end of a thread, and before it takes a message; replaced by parts. */
export const threadEvents: Record<'onStart' | 'onEnd', (thread: string) => void> & {
  onMessage: (thread: string, message: unknown) => void
} = {
  onStart: () => undefined,
  onEnd: () => undefined,
  onMessage: () => undefined,
}

/** Threads of the product on the thread of the bottle, and the modules that are replaced while they are loaded. */
export function installThreads({ time, random, edits }: ThreadOptions): void {
  class Worker extends EventEmitter {
    readonly threadId = 1
    readonly #inside = new EventEmitter()
    readonly #program: Program
    readonly #inner: Program
    readonly #outerRun = AsyncLocalStorage.snapshot() as Run
    readonly #forget: () => void
    readonly #name: string
    #queue: unknown[] = []
    #isReady = false

    constructor(url: URL, { workerData, name = '' }: { workerData?: unknown; name?: string } = {}) {
      super()
      this.#program = running.getStore() ?? new Program('bottle')
      this.#inner = new Program(`${this.#program.name} ${name}`, this.#program)
      this.#inner.onTurn = () => this.#program.onTurn?.()
      threads.add(this.#inner)
      this.#inner.onDeath(() => threads.delete(this.#inner))
      this.#name = name
      this.#forget = this.#program.onDeath(() => this.#inner.die())
      const data = structuredClone(workerData)
      const start = async () => {
        const { default: main } = await time.holding(`thread ${name}`, import(`${url.href}${THREAD}`))
        if (!this.#inner.isAlive) return
        threadEvents.onStart(name)
        await running.run(this.#inner, () => main(this.#port(), data))
        this.#isReady = true
        if (this.#inside.listenerCount('message') === 0) running.exit(() => this.#endOnceIdle())
        this.#outer(() => this.emit('online'))
        for (const message of this.#queue.splice(0)) this.#pass(message)
      }
      start().catch((error: unknown) => this.#outer(() => this.emit('error', error)))
    }

    postMessage(message: unknown, transfer: ArrayBuffer[] = []): void {
      const copy = structuredClone(message, { transfer })
      if (this.#isReady) this.#pass(copy)
      else this.#queue.push(copy)
    }

    async terminate(): Promise<number> {
      this.#end(1)
      return 1
    }

    ref(): void {
      // the bottle decides when it ends
    }

    unref(): void {
      // the bottle decides when it ends
    }

    #pass(message: unknown): void {
      const deliver = () => this.#inside.emit('message', message)
      threadEvents.onMessage(this.#name, message)
      const delayMs = slowness.delay(this.#name, message)
      running.run(this.#inner, () => (delayMs === 0 ? setImmediate(deliver) : setTimeout(deliver, delayMs)))
    }

    #port() {
      const inside = this.#inside
      return Object.assign(inside, {
        postMessage: (message: unknown, transfer: ArrayBuffer[] = []) => {
          const copy = structuredClone(message, { transfer })
          this.#outer(() => this.emit('message', copy))
        },
        close: () => this.#end(0),
        ref: () => undefined,
        unref: () => undefined,
      })
    }

    /** A thread that takes no messages ends when it has nothing left to do. */
    #endOnceIdle(): void {
      const look = () => {
        if (!this.#inner.isAlive) return
        if (time.waitingOf(this.#inner).length > 0) setTimeout(look, IDLE_LOOK_MS)
        else this.#end(0)
      }
      setTimeout(look, IDLE_LOOK_MS)
    }

    #outer(call: () => void): void {
      time.post(this.#outerRun, call)
    }

    #end(code: number): void {
      if (!this.#inner.isAlive) return
      this.#inner.die()
      this.#forget()
      threadEvents.onEnd(this.#name)
      this.#outer(() => this.emit('exit', code))
    }
  }
  workers.Worker = Worker
  syncBuiltinESMExports()

  /** Database handle that its program closes when it dies. */
  class Database extends Sqlite {
    constructor(...given: ConstructorParameters<typeof Sqlite>) {
      super(...given)
      this.function('randomblob', (count: number) => {
        const bytes = Buffer.alloc(Number(count))
        fillBytes(random, bytes)
        return bytes
      })
      const open = new Set<IterableIterator<unknown>>()
      const prepare = this.prepare.bind(this)
      this.prepare = ((sql: string) => {
        const statement = prepare(sql)
        const iterate = statement.iterate.bind(statement)
        statement.iterate = function* (...values) {
          const rows = iterate(...values)
          open.add(rows)
          try {
            yield* rows
          } finally {
            open.delete(rows)
          }
        }
        return statement
      }) as typeof prepare
      const forget = running.getStore()?.onDeath(() => {
        // a connection with open rows cannot be closed
        for (const rows of open) rows.return?.()
        super.close()
      })
      this.#forget = forget ?? (() => false)
    }

    readonly #forget: () => void

    override close(): this {
      this.#forget()
      return super.close()
    }
  }
  Object.assign(globalThis, { bottleSqlite: { Database, SqliteError: Sqlite.SqliteError } })
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier === 'better-sqlite3' && !context.parentURL?.includes('/scripts/live/'))
        return { url: 'bottle:better-sqlite3', format: 'module', shortCircuit: true }
      return next(specifier, context)
    },
    load(url, context, next) {
      if (url === 'bottle:better-sqlite3')
        return {
          format: 'module',
          source:
            'export default globalThis.bottleSqlite.Database\nexport const { SqliteError } = globalThis.bottleSqlite',
          shortCircuit: true,
        }
      if (url.endsWith(THREAD)) {
        const source = threadSource(fileURLToPath(url.slice(0, -THREAD.length)))
        return { format: 'module', source, shortCircuit: true }
      }
      const edit = edits.find(({ file }) => url.endsWith(`/${file}`))
      const loaded = next(url, context)
      return edit === undefined ? loaded : { ...loaded, source: edited(String(loaded.source), edit) }
    },
  })
}

/** The code of a thread as a function, so that each of its threads has state of its own without another module. */
function threadSource(path: string): string {
  const code = stripTypeScriptTypes(readFileSync(path, 'utf8')).replace(THREAD_IMPORT, '')
  const imports = [...code.matchAll(/^import [^'"]*['"][^'"]+['"];?$/gm)]
  const last = imports.at(-1)
  const bodyAt = last === undefined ? 0 : last.index + last[0].length
  return `${code.slice(0, bodyAt)}\nexport default async (parentPort, workerData) => {${code.slice(bodyAt)}\n}`
}

function edited(source: string, { file, from, to }: Edit): string {
  const parts = source.split(from)
  if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times: ${from}`)
  return parts.join(to)
}
