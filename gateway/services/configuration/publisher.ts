import { mergeLayers } from '#domain/config-layers.ts'
import type { Downlink } from '#domain/downlink.ts'
import { SerialQueue } from '#shared/budgets/serial-queue.ts'
import { describeError } from '#shared/errors.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import type { Clock } from '#shared/time.ts'
import { configMessageSchema, deviceTopic } from '#shared/wire/mqtt.ts'
import type { Store } from '#store/store.ts'
import type { Publication } from '#store/tables/device-configs.ts'
import { publishWith } from '../downlink.ts'
import type { Fleet } from '../fleet.ts'
import type { ConfigLayers, ConfigSubject, LayerChange } from './layers.ts'

/** Configuration last published to a device: its retained `cfg` message. */
export interface PublishedConfig {
  version: number
  atMs: number
  groupId: number | null
  /** JSON, keys in the order of `mergeLayers`. */
  config: string
}

/**
 * Performs a write and publishes the configurations that it changes for `subjects`, given as after it, with `change`
 * made. `write` puts the publication into its transaction; its `onWritten` changes memory, then calls `commit`.
 */
type Publish = <Result>(
  subjects: readonly ConfigSubject[],
  change: LayerChange | undefined,
  write: (publication: Publication, commit: () => void) => Promise<Result>,
) => Promise<{ result: Result; published: number }>

interface ConfigPublisherDeps {
  store: Pick<Store, 'read' | 'write'>
  fleet: Fleet
  layers: ConfigLayers
  downlink: Pick<Downlink, 'prepare'>
  clock: Clock
  log: Log
}

interface News {
  hardwareId: string
  groupId: number | null
  config: string
}

/** Maximum number of devices in one transaction, which keeps it short. */
const CHUNK = 100

/** Key that lists the zone types that the device's cart may enter as an exemption. */
export const ZONE_EXEMPT = 'zone_exempt'

const NO_PUBLICATION: Publication = { version: null, sessionChanges: [] }

/**
 * Publishes the configuration of each device as a retained message, whenever it changes. Changes to layers, types and
 * groups are serialised, so a configuration is current when it is stored.
 */
export class ConfigPublisher implements Component {
  readonly #deps: ConfigPublisherDeps
  readonly #published = new Map<string, PublishedConfig>()
  #version = 0
  readonly #turns = new SerialQueue()
  #isStarted = false

  constructor(deps: ConfigPublisherDeps) {
    this.#deps = deps
  }

  /** Reads layers and published configurations; runs before `start`, which needs a broker. */
  load(): void {
    const { store, layers } = this.#deps
    const { groupLayers, deviceLayers, published, version } = store.read.configs()
    for (const { groupId, deviceType, config } of groupLayers)
      layers.set({ kind: 'group', groupId, deviceType, layer: JSON.parse(config) })
    for (const { hardwareId, config } of deviceLayers)
      layers.set({ kind: 'device', hardwareId, layer: JSON.parse(config) })
    for (const { hardwareId, zoneTypes } of store.read.zoneExempts())
      layers.set({ kind: 'cart', hardwareIds: [hardwareId], layer: { [ZONE_EXEMPT]: JSON.parse(zoneTypes) } })
    for (const { topic, payload } of published) this.#recall(topic, payload)
    this.#version = version
  }

  /** Publishes settings that another version of the program, or another default, has changed. */
  async start(): Promise<void> {
    this.#isStarted = true
    await this.publishDifferences()
  }

  async stop(): Promise<void> {
    this.#isStarted = false
  }

  publishedTo(hardwareId: string): PublishedConfig | undefined {
    return this.#published.get(hardwareId)
  }

  forget(hardwareId: string): void {
    this.#published.delete(hardwareId)
    this.#deps.layers.forgetDevice(hardwareId)
  }

  /** Performs a change of layers, types, groups or their devices while no other such change is in progress. */
  inTurn<Result>(work: (publish: Publish) => Promise<Result>): Promise<Result> {
    return this.#turns.take(() => work(this.#publish))
  }

  /** Publishes to every device whose published configuration is out of date, after an upgrade or a fault. */
  async publishDifferences(): Promise<void> {
    if (!this.#isStarted) return
    const { fleet, log } = this.#deps
    await this.inTurn(async () => {
      const news = this.#newsFor(fleet.all().map(({ row }) => row))
      const published = await this.#publishMore(news)
      if (published > 0) log.info({ devices: published }, 'device configurations published')
    })
  }

  readonly #publish: Publish = async (subjects, change, write) => {
    const news = this.#newsFor(subjects, change)
    const first = news.slice(0, CHUNK)
    const { layers } = this.#deps
    const result = await this.#publishNow(first, (publication, commit) =>
      write(publication, () => {
        if (change !== undefined) layers.set(change)
        commit()
      }),
    )
    const published = first.length + (await this.#publishMore(news.slice(CHUNK)))
    return { result, published }
  }

  /** Publishes changes made before. Returns the number of devices reached; others follow once the store is writable. */
  async #publishMore(news: readonly News[]): Promise<number> {
    const { store, log } = this.#deps
    let published = 0
    try {
      while (published < news.length) {
        const chunk = news.slice(published, published + CHUNK)
        await this.#publishNow(chunk, (publication, commit) => store.write('publishConfigs', publication, commit))
        published += chunk.length
      }
    } catch (error) {
      log.warn(
        { reason: describeError(error), devices: news.length - published },
        'device configuration publish failed; will retry later',
      )
    }
    return published
  }

  #publishNow<Result>(
    news: readonly News[],
    write: (publication: Publication, commit: () => void) => Promise<Result>,
  ): Promise<Result> {
    if (news.length === 0) return write(NO_PUBLICATION, () => undefined)
    const { downlink, clock } = this.#deps
    const version = this.#version + 1
    const atMs = clock.nowMs()
    const messages = news.map(({ hardwareId, groupId, config }) =>
      downlink.prepare({
        topic: deviceTopic(hardwareId, 'cfg'),
        payload: `{"v":${version},"ts":${atMs},"group_id":${groupId},"config":${config}}`,
        isRetained: true,
      }),
    )
    return publishWith(messages, (sessionChanges, commit) =>
      write({ version, sessionChanges }, () => {
        this.#version = version
        for (const { hardwareId, groupId, config } of news)
          this.#published.set(hardwareId, { version, atMs, groupId, config })
        commit()
      }),
    )
  }

  /** Returns the devices whose configuration or group differs from the last published one. */
  #newsFor(subjects: readonly ConfigSubject[], change?: LayerChange): News[] {
    const news: News[] = []
    const texts = new Map<string, string>()
    for (const subject of subjects) {
      const { hardwareId, groupId } = subject
      const config = this.#textFor(subject, change, texts)
      const last = this.#published.get(hardwareId)
      if (last?.config !== config || last.groupId !== groupId) news.push({ hardwareId, groupId, config })
    }
    return news
  }

  /** Returns the merged layers as JSON; devices without a layer of their own share it in `texts`. */
  #textFor(subject: ConfigSubject, change: LayerChange | undefined, texts: Map<string, string>): string {
    const layers = this.#deps.layers.of(subject, change)
    const isItsOwn = [layers.device, layers.cart ?? {}].some((layer) => Object.keys(layer).length > 0)
    if (isItsOwn) return JSON.stringify(mergeLayers(layers))
    const key = `${subject.groupId}/${subject.deviceType}`
    const known = texts.get(key)
    if (known !== undefined) return known
    const text = JSON.stringify(mergeLayers(layers))
    texts.set(key, text)
    return text
  }

  #recall(topic: string, payload: Uint8Array | string): void {
    const hardwareId = topic.split('/')[1]
    const message = configMessageSchema.safeParse(parseOrUndefined(Buffer.from(payload).toString()))
    // an unreadable message is published again
    if (hardwareId === undefined || !message.success) return
    const { v: version, ts: atMs, group_id: groupId, config } = message.data
    this.#published.set(hardwareId, { version, atMs, groupId, config: JSON.stringify(config) })
  }
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
