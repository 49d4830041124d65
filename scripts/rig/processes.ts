import { type ChildProcess, fork, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { EXIT, processIo, runCommand } from '#scripts/cli/command.ts'
import { describeError } from '#shared/errors.ts'

const STOP_LIMIT_MS = 15_000
const ERROR_TAIL_CHARACTERS = 2000
/** Lines kept of output that is not read to its end. */
const MAX_LINES = 1000

/** Process of a benchmark whose stdout is read line by line. */
export class BenchProcess {
  readonly pid: number
  readonly exited: Promise<void>
  readonly #name: string
  readonly #child: ChildProcess
  readonly #lines: string[] = []
  #nextLine = Promise.withResolvers<void>()
  #onLine: (line: string) => void = () => undefined
  #errorTail = ''
  #hasExited = false

  constructor(name: string, child: ChildProcess) {
    this.#name = name
    this.#child = child
    this.pid = child.pid ?? 0
    child.stderr?.on('data', (chunk: Buffer) => {
      this.#errorTail = (this.#errorTail + chunk.toString()).slice(-ERROR_TAIL_CHARACTERS)
    })
    if (child.stdout !== null) {
      createInterface({ input: child.stdout }).on('line', (line) => {
        this.#onLine(line)
        this.#lines.push(line)
        if (this.#lines.length > MAX_LINES) this.#lines.shift()
        this.#nextLine.resolve()
        this.#nextLine = Promise.withResolvers()
      })
    }
    this.exited = new Promise((resolve) => {
      const finish = () => {
        this.#hasExited = true
        resolve()
      }
      child.once('close', finish)
      child.once('error', finish)
    })
  }

  get hasExited(): boolean {
    return this.#hasExited
  }

  /** Null while it runs, and if a signal ended it. */
  get exitCode(): number | null {
    return this.#child.exitCode
  }

  /** Last part of its stderr. */
  get errorTail(): string {
    return this.#errorTail
  }

  /** Passes every line from now on to `listener` as well. */
  watchLines(listener: (line: string) => void): void {
    this.#onLine = listener
  }

  /** First value `pick` gives for an unread line; drops lines up to it. Throws at the process's end or the limit. */
  async take<T>(what: string, limitMs: number, pick: (line: string) => T | undefined): Promise<T> {
    let isOver = false
    const search = async (): Promise<T> => {
      for (;;) {
        for (let line = this.#lines.shift(); line !== undefined; line = this.#lines.shift()) {
          const value = pick(line)
          if (value !== undefined) return value
        }
        await this.#nextLine.promise
        if (isOver) throw new Error('the wait is over')
      }
    }
    try {
      return await this.before(what, limitMs, search())
    } finally {
      isOver = true
    }
  }

  /** Waits for `promise`; throws if the process ends first or the limit expires. */
  async before<T>(what: string, limitMs: number, promise: Promise<T>): Promise<T> {
    const { promise: timeIsUp, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(
      () => reject(new Error(`${this.#name}: no ${what} in ${limitMs} ms ${this.#errorTail}`)),
      limitMs,
    )
    const ended = this.exited.then((): never => {
      throw new Error(`${this.#name} ended before ${what}: ${this.#errorTail}`)
    })
    try {
      return await Promise.race([promise, ended, timeIsUp])
    } finally {
      clearTimeout(timer)
    }
  }

  /** Sends a message to a process started by `fork`. */
  send(message: object): void {
    // if it has just ended, the caller that waits for a response notices
    this.#child.send(message, () => undefined)
  }

  /** Sends the signal and waits for the end; kills the process if that takes too long. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (this.#hasExited) return
    this.#child.kill(signal)
    const killer = setTimeout(() => this.#child.kill('SIGKILL'), STOP_LIMIT_MS)
    await this.exited
    clearTimeout(killer)
  }

  /** Sends the signal without waiting for the end. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  killNow(): void {
    if (!this.#hasExited) this.#child.kill('SIGKILL')
  }
}

/** Processes and temporary folders that a benchmark has to clean up. */
export class Workbench {
  readonly #processes = new Set<BenchProcess>()
  readonly #folders = new Set<string>()
  readonly #shared = new Map<unknown, unknown>()

  /** Returns what `make` returned the first time, for whatever arguments: scenarios of one run share it. */
  shared<Args extends unknown[], Result>(make: (...args: Args) => Result, ...args: Args): Result {
    if (!this.#shared.has(make)) this.#shared.set(make, make(...args))
    return this.#shared.get(make) as Result
  }

  /** Starts a process with the given variables added to our environment. */
  spawn(name: string, command: string, args: string[], env: Record<string, string> = {}): BenchProcess {
    const child = spawn(command, args, {
      // the gateway refuses settings that it does not know
      env: { ...process.env, CARTBARN_TEST_LONG: undefined, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    return this.#add(new BenchProcess(name, child))
  }

  /** Starts one of our scripts, with a message channel. */
  fork(name: string, script: string, onMessage: (message: unknown) => void): BenchProcess {
    const child = fork(script, {
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    child.on('message', onMessage)
    return this.#add(new BenchProcess(name, child))
  }

  createFolder(name: string): string {
    const folder = mkdtempSync(join(tmpdir(), `cartbarn-bench-${name}-`))
    this.#folders.add(folder)
    return folder
  }

  /** Kills and removes everything; synchronous, so that an exit handler can call it. */
  clear(): void {
    for (const started of this.#processes) started.killNow()
    for (const folder of this.#folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    this.#folders.clear()
  }

  #add(started: BenchProcess): BenchProcess {
    this.#processes.add(started)
    void started.exited.then(() => this.#processes.delete(started))
    return started
  }
}

/** Runs a program to its exit code. However it ends, no process and no folder full of samples is left. */
export async function runOnWorkbench(
  name: string,
  work: (bench: Workbench, argv: readonly string[]) => Promise<number>,
): Promise<void> {
  const bench = new Workbench()
  process.on('exit', () => bench.clear())
  const io = processIo()
  io.signal.addEventListener('abort', () => process.exit(EXIT.interrupted))
  const code = await runCommand(name, io, () => work(bench, process.argv.slice(2))).catch((error: unknown) => {
    io.stderr.write(`${name}: ${describeError(error)}\n`)
    return EXIT.failed
  })
  process.exit(code)
}
