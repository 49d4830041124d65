import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import { freePort } from '#shared/testing/free-port.ts'
import { findPostgres } from './postgres-binaries.ts'
import { copyFolder, emptyCluster, identity, makeFolder } from './postgres-cluster.ts'

export interface PostgresServerOptions {
  /** Writes reach the disk before they are committed, as in production; off for speed. */
  readonly fsync?: boolean
  /** Commits survive a kill of the server; off for speed. With `fsync` they always do. */
  readonly survivesKill?: boolean
  /** Parent of its folder. */
  readonly within?: string
}

const START_TIMEOUT_MS = 60_000
const PORT_ATTEMPTS = 5

// Keeps PostgreSQL running while a process holds its standard input: however the tests end, neither a process nor a
// folder is left. $1 is the folder.
const SUPERVISOR = `
folder="$1"; shift
"$@" </dev/null & server=$!
cat >/dev/null
kill -QUIT $server 2>/dev/null
wait $server 2>/dev/null
[ -e "$folder/keep" ] || rm -rf "$folder"`

/** Real PostgreSQL in a temporary folder on a free port of 127.0.0.1. */
export class PostgresServer {
  readonly #native: string
  readonly #folder: string
  readonly #fsync: boolean
  readonly #survivesKill: boolean
  #port = 0
  #supervisor: ChildProcess | undefined

  constructor(native: string, { fsync = false, survivesKill = fsync, within = tmpdir() }: PostgresServerOptions = {}) {
    this.#native = native
    this.#fsync = fsync
    this.#survivesKill = survivesKill
    this.#folder = makeFolder(join(within, 'cartbarn-postgres-data-'))
  }

  /** URL of the initial database. */
  get url(): string {
    return this.#urlOf('postgres')
  }

  /** Pid of the process that started all others, while it runs. */
  get pid(): number {
    return Number(readFileSync(join(this.#dataDir, 'postmaster.pid'), 'utf8').split('\n')[0])
  }

  /** Creates an empty database; returns its URL. */
  async createDatabase(): Promise<string> {
    const name = `test_${randomBytes(6).toString('hex')}`
    const client = new pg.Client(this.url)
    await client.connect()
    try {
      await client.query(`CREATE DATABASE ${name}`)
    } finally {
      await client.end()
    }
    return this.#urlOf(name)
  }

  async start(): Promise<void> {
    copyFolder(emptyCluster(this.#native), this.#dataDir)
    await this.#run()
  }

  /** Stops it like a power cut of its machine. */
  async kill(): Promise<void> {
    process.kill(this.pid, 'SIGKILL')
    await this.#end(true)
  }

  /** After `kill`: copies the data on the disk; returns a function that restores it, after another `kill`. */
  keepBackup(): () => void {
    const backup = join(this.#folder, 'backup')
    copyFolder(this.#dataDir, backup)
    return () => copyFolder(backup, this.#dataDir)
  }

  /** After `kill`: starts as a standby, until `SELECT pg_promote()`. */
  becomeStandby(): void {
    writeFileSync(join(this.#dataDir, 'standby.signal'), '')
  }

  /** After `kill`: starts on the same folder and port. */
  async restart(): Promise<void> {
    await this.#run()
  }

  async stop(): Promise<void> {
    await this.#end(false)
  }

  get #dataDir(): string {
    return join(this.#folder, 'data')
  }

  #urlOf(database: string): string {
    return `postgres://cartbarn@127.0.0.1:${this.#port}/${database}`
  }

  async #run(): Promise<void> {
    const isFixed = this.#port !== 0
    for (let attempt = 1; ; attempt++) {
      // another process may take the port before the start
      if (!isFixed) this.#port = await freePort()
      const problem = await this.#tryToRun()
      if (problem === undefined) return
      if (attempt >= PORT_ATTEMPTS) throw new Error(`PostgreSQL did not start: ${problem}`)
    }
  }

  async #tryToRun(): Promise<string | undefined> {
    const isSafe = this.#fsync ? 'on' : 'off'
    const settings = {
      port: this.#port,
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      max_connections: 60,
      shared_buffers: '64MB',
      fsync: isSafe,
      synchronous_commit: this.#survivesKill ? 'on' : 'off',
      full_page_writes: isSafe,
      lc_messages: 'C',
      // tests provoke deadlocks, and would wait a second for each
      deadlock_timeout: '50ms',
      restart_after_crash: 'off',
    }
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const supervisor = spawn(
      'sh',
      ['-c', SUPERVISOR, 'sh', this.#folder, join(this.#native, 'bin/postgres'), '-D', this.#dataDir, ...args],
      // its own session: Ctrl-C must reach only the tests, which then have to delete the folder
      { ...identity(), cwd: this.#folder, stdio: ['pipe', 'ignore', 'pipe'], detached: true },
    )
    this.#supervisor = supervisor
    const lines: string[] = []
    const isReady = await new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(false), START_TIMEOUT_MS)
      timer.unref()
      const output = createInterface({ input: supervisor.stderr })
      output.on('line', (line) => {
        lines.push(line)
        if (/ready to accept (read-only )?connections/.test(line)) resolve(true)
        // the supervisor waits for this process, not for the server
        if (/\bFATAL\b(?!: +the database system is)|database system is shut down/.test(line)) resolve(false)
      })
      supervisor.once('exit', () => resolve(false))
    })
    if (!isReady) {
      await this.#end(true)
      return lines.join('\n')
    }
    supervisor.stderr.resume()
    // none of its handles keeps the test process alive
    supervisor.unref()
    for (const stream of [supervisor.stdin, supervisor.stderr]) {
      if ('unref' in stream && typeof stream.unref === 'function') stream.unref()
    }
    return undefined
  }

  async #end(isKept: boolean): Promise<void> {
    const supervisor = this.#supervisor
    this.#supervisor = undefined
    if (supervisor === undefined || supervisor.exitCode !== null) return
    if (isKept) spawnSync('touch', [join(this.#folder, 'keep')])
    else spawnSync('rm', ['-f', join(this.#folder, 'keep')])
    const exited = once(supervisor, 'exit')
    supervisor.ref()
    supervisor.stdin?.end()
    await exited
  }
}

/** Starts a separate PostgreSQL. Throws if there is none for this machine. */
export async function startPostgres(options: PostgresServerOptions = {}): Promise<PostgresServer> {
  const native = findPostgres()
  if (native === undefined) throw new Error(`no PostgreSQL for ${process.platform}-${process.arch}`)
  const server = new PostgresServer(native, options)
  await server.start()
  return server
}
