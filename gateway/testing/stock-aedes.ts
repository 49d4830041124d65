import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import type { Duplex } from 'node:stream'
import { Aedes, type AedesOptions } from 'aedes'
import memoryPersistence from 'aedes-persistence'
import { HeldDisk } from './held-disk.ts'
import { urlOf } from './open-broker.ts'

/** Used part of the persistence; the package declares an outdated callback interface. */
interface MemoryPersistence {
  storeRetained(packet: object): Promise<void>
  outgoingEnqueueCombi(subscriptions: object[], packet: object): Promise<void>
  putWill(client: object, packet: object): Promise<void>
  getWill(client: { id: string }): Promise<object | undefined>
}

/** Creates the default persistence of Aedes, writing to a disk that can be held. */
export function createHeldMemory(disk: HeldDisk): MemoryPersistence {
  // declared as a module of types, but it exports a factory function
  const memory = (memoryPersistence as unknown as () => MemoryPersistence)()
  const { storeRetained, outgoingEnqueueCombi, putWill } = memory
  return Object.assign(memory, {
    storeRetained: async (packet: object) => {
      await disk.written()
      return storeRetained.call(memory, packet)
    },
    outgoingEnqueueCombi: async (subscriptions: object[], packet: object) => {
      await disk.written()
      return outgoingEnqueueCombi.call(memory, subscriptions, packet)
    },
    putWill: async (client: object, packet: object) => {
      await disk.written()
      return putWill.call(memory, client, packet)
    },
  })
}

interface StockOptions extends AedesOptions {
  /** Memory of an earlier broker, to simulate a restart after a kill. */
  memory?: MemoryPersistence
  disk?: HeldDisk
}

/** Unmodified Aedes of the package, with the hooks that a test sets. */
export class StockAedes {
  readonly disk: HeldDisk
  readonly memory: MemoryPersistence
  readonly aedes: Aedes
  /** Number of messages received. */
  taken = 0
  readonly #server: Server
  readonly #streams = new Set<Duplex>()

  private constructor(aedes: Aedes, memory: MemoryPersistence, disk: HeldDisk) {
    this.aedes = aedes
    this.memory = memory
    this.disk = disk
    this.#server = createServer((socket) => this.handle(socket))
  }

  static async start({ disk = new HeldDisk(), memory, ...options }: StockOptions = {}): Promise<StockAedes> {
    const persistence = memory ?? createHeldMemory(disk)
    const authorizePublish = options.authorizePublish ?? ((_client, _packet, done) => done(null))
    const aedes = new Aedes({
      ...options,
      persistence,
      authorizePublish: (client, packet, done) => {
        opened.taken++
        authorizePublish(client, packet, done)
      },
    })
    await aedes.listen()
    const opened = new StockAedes(aedes, persistence, disk)
    opened.#server.listen(0, '127.0.0.1')
    await once(opened.#server, 'listening')
    return opened
  }

  get url(): string {
    return urlOf(this.#server)
  }

  get connectedClients(): number {
    return this.aedes.connectedClients
  }

  handle(stream: Duplex): void {
    this.#streams.add(stream)
    this.aedes.handle(stream)
  }

  publish(topic: string, payload: string): void {
    const packet = { cmd: 'publish', qos: 0, retain: false, dup: false } as const
    this.aedes.publish({ ...packet, topic, payload }, () => undefined)
  }

  async hasWill(clientId: string): Promise<boolean> {
    return (await this.memory.getWill({ id: clientId })) !== undefined
  }

  async stop(): Promise<void> {
    this.disk.release()
    this.#server.close()
    await new Promise<void>((resolve) => this.aedes.close(resolve))
    for (const stream of this.#streams) stream.destroy()
  }
}
