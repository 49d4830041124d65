import type { Database } from '#hub/store/database/database.ts'
import { openDatabase } from '#hub/store/database/open.ts'
import { compactSegments } from '#hub/store/telemetry/compactor.ts'
import { type PostgresServer, startPostgres } from '#hub/testing/start-postgres.ts'
import { HUB_ADMIN_KEY, HubProcess } from '#scripts/rig/hub-process.ts'
import type { Workbench } from '#scripts/rig/processes.ts'
import { createLog } from '#shared/log.ts'
import { type SiteJson, siteSchema } from '#shared/wire/sites.ts'

export type HubDatabase = 'PostgreSQL' | 'PGlite'

interface HubOptions {
  database: HubDatabase
  /** Number of processes over the database; an embedded one permits only one. */
  processes?: number
  /** Parent of the folder of PostgreSQL. */
  within?: string
}

/** Hub of one or several processes, which may be killed, and its database, which may be killed too. */
export class TorturedHub {
  readonly processes: readonly HubProcess[]
  readonly #dataDir: string
  readonly #server: PostgresServer | null
  readonly #url: string | undefined

  private constructor(
    processes: readonly HubProcess[],
    dataDir: string,
    server: PostgresServer | null,
    url: string | undefined,
  ) {
    this.processes = processes
    this.#dataDir = dataDir
    this.#server = server
    this.#url = url
  }

  /** Creates an empty hub with its database; no process is running yet. */
  static async create(bench: Workbench, { database, processes = 1, within }: HubOptions): Promise<TorturedHub> {
    const dataDir = bench.createFolder('hub')
    const options = { survivesKill: true, ...(within === undefined ? {} : { within }) }
    const server = database === 'PostgreSQL' ? await startPostgres(options) : null
    const url = await server?.createDatabase()
    const env = { CARTBARN_HUB_DATA_DIR: dataDir, ...(url && { CARTBARN_HUB_DATABASE_URL: url }) }
    const all = Array.from({ length: processes }, () => new HubProcess(bench, env))
    return new TorturedHub(all, dataDir, server, url)
  }

  /** Port of a random process, as a load balancer without state chooses one. */
  get port(): number {
    return this.processes[Math.floor(Math.random() * this.processes.length)]?.port ?? 0
  }

  /** Creates a site while no process of the hub is running; returns its key. */
  async addSite(siteId: string): Promise<string> {
    const [first] = this.processes
    if (first === undefined) throw new Error('a hub without a process')
    return first.addSite(siteId)
  }

  /** Asks for the state of a site. */
  async site(siteId: string): Promise<SiteJson> {
    const response = await fetch(`http://127.0.0.1:${this.port}/sites/${siteId}`, {
      headers: { 'X-API-Key': HUB_ADMIN_KEY },
    })
    if (response.status !== 200) throw new Error(`GET /sites/${siteId}: ${response.status}`)
    return siteSchema.parse(await response.json())
  }

  /** Number of databases that were ever replicated as a site. */
  async countEpochs(siteId: string): Promise<number> {
    const row = await this.read((sql) =>
      sql.get<{ count: number }>('SELECT COUNT(*) AS count FROM site_epoch WHERE site_id = $1', [siteId]),
    )
    return Number(row?.count ?? 0)
  }

  /** Resolves when all processes listen. */
  async start(): Promise<void> {
    await Promise.all(this.processes.map((process) => process.start()))
  }

  /** Kills the database, as a power cut of its machine that loses nothing on its disk. */
  async killDatabase(): Promise<void> {
    await this.#server?.kill()
  }

  async restartDatabase(): Promise<void> {
    await this.#server?.restart()
  }

  /** Saves the database; returns the function that restores it. The hub runs again when either is done. */
  async keepBackup(): Promise<() => Promise<void>> {
    const server = this.#server
    if (server === null) throw new Error('only PostgreSQL can be restored')
    const putBack = await this.#whileDown(() => server.keepBackup())
    return () => this.#whileDown(putBack)
  }

  /** Opens the database for `work`. An embedded one permits only one process: its hub is stopped meanwhile. */
  async read<Result>(work: (sql: Database) => Promise<Result>): Promise<Result> {
    const isEmbedded = this.#url === undefined
    if (isEmbedded) await this.#end('SIGTERM')
    const log = createLog('silent')
    const database = openDatabase({ url: this.#url, dataDir: this.#dataDir, log })
    await database.start()
    try {
      return await work(database)
    } finally {
      await database.stop()
      if (isEmbedded) await this.start()
    }
  }

  /** Compacts received batches into blocks, as any of its processes would; has no effect with an embedded database. */
  async compact(siteId: string): Promise<void> {
    if (this.#url === undefined) return
    // the database may be killed meanwhile
    await this.read((database) => compactSegments(database, siteId, Date.now())).catch(() => undefined)
  }

  async stop(): Promise<void> {
    await this.#end('SIGKILL')
    await this.#server?.stop()
  }

  async #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    await Promise.all(this.processes.map((process) => process.end(signal)))
  }

  async #whileDown<Result>(work: () => Result): Promise<Result> {
    await this.#end('SIGKILL')
    await this.killDatabase()
    const result = work()
    await this.restartDatabase()
    await this.start()
    return result
  }
}
