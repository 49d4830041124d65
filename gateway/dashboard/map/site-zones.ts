import { type ReadonlySignal, signal } from '@preact/signals-core'
import type { Dashboard } from '#dashboard/live/dashboard.ts'
import type { ZonesJson } from '#shared/wire/zones.ts'

const AGAIN_MS = 5_000

/** A set of zones, and the tag by which a change names it. */
export interface ZoneSet {
  zones: ZonesJson
  etag: string
}

/** Reads the zones of the site as they are now. Throws what `ApiClient` throws. */
export async function readZones({ api }: Pick<Dashboard, 'api'>): Promise<ZoneSet> {
  const response = await api.download('GET /zones')
  // what the gateway answers here is held to its schema by its own tests
  const zones = (await response.json()) as ZonesJson
  return { zones, etag: response.headers.get('etag') ?? '*' }
}

/** The zones of the site, read again whenever somebody changed them or the line comes back. */
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
      // what was read before is still the best there is
      if (read === this.#reads) this.#timer = setTimeout(() => void this.#read(), AGAIN_MS)
    }
  }
}
