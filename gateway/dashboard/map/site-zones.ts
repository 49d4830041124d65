import { type ReadonlySignal, signal } from '@preact/signals-core'
import type { Dashboard } from '#dashboard/live/dashboard.ts'
import type { ZonesJson } from '#shared/wire/zones.ts'

const AGAIN_MS = 5_000

/** Set of zones with the tag that a change must name. */
export interface ZoneSet {
  zones: ZonesJson
  etag: string
}

/** Reads the current zones of the site. Throws the errors of `ApiClient`. */
export async function readZones({ api }: Pick<Dashboard, 'api'>): Promise<ZoneSet> {
  const response = await api.download('GET /zones')
  // the gateway's tests check this response against its schema
  const zones = (await response.json()) as ZonesJson
  return { zones, etag: response.headers.get('etag') ?? '*' }
}

/** Zones of the site, read again after a change and after a reconnection. */
export class SiteZones {
  readonly #dashboard: Pick<Dashboard, 'api' | 'listen'>
  readonly #current = signal<ZonesJson | null>(null)
  #timer: ReturnType<typeof setTimeout> | undefined
  #stopListening: (() => void) | undefined
  #reads = 0

  constructor(dashboard: Pick<Dashboard, 'api' | 'listen'>) {
    this.#dashboard = dashboard
  }

  /** Null until they have been read. */
  get current(): ReadonlySignal<ZonesJson | null> {
    return this.#current
  }

  start(): void {
    this.#stopListening = this.#dashboard.listen(({ type }) => {
      if (type === 'zones_changed' || type === 'snapshot') void this.#read()
    })
    void this.#read()
  }

  stop(): void {
    this.#reads += 1
    clearTimeout(this.#timer)
    this.#stopListening?.()
  }

  async #read(): Promise<void> {
    clearTimeout(this.#timer)
    this.#reads += 1
    const read = this.#reads
    try {
      const { zones } = await readZones(this.#dashboard)
      if (read === this.#reads && zones.version !== this.#current.peek()?.version) this.#current.value = zones
    } catch {
      // the last read zones stay in use
      if (read === this.#reads) this.#timer = setTimeout(() => void this.#read(), AGAIN_MS)
    }
  }
}
