import type { RealtimeClient } from '../realtime-client.ts'
import type { Barn, BarnCart } from './barn.ts'
import { askCommand } from './commanded-device.ts'

const NAME = 'witness'

/** Detects ticks: evaluations of all carts, and the actions that follow; for tests of things that must not happen. */
export class TickWatch {
  readonly #barn: Barn
  #cart: BarnCart
  #socket: RealtimeClient
  #tags = 0

  private constructor(barn: Barn, cart: BarnCart, socket: RealtimeClient) {
    this.#barn = barn
    this.#cart = cart
    this.#socket = socket
  }

  static async start(barn: Barn): Promise<TickWatch> {
    return new TickWatch(barn, await barn.cart(NAME), await follow(barn))
  }

  /** Call after a restart of the gateway. */
  async restarted(): Promise<void> {
    this.#cart = await this.#barn.connect(NAME)
    this.#socket = await follow(this.#barn)
  }

  /** Resolves after the next evaluation of carts, once the resulting actions have been requested. */
  async tick(): Promise<void> {
    const isLocked = ++this.#tags % 2 === 1
    await this.#cart.tag(isLocked ? 'lock' : 'unlock', `beat-${this.#tags}`)
    for (;;) {
      const { cart } = await this.#socket.next('cart')
      if (cart.cart === NAME && cart.lock?.is_locked === isLocked) break
    }
    // queued after everything that waits
    await askCommand(this.#barn.gateway, NAME, 'locate')
    await this.#cart.receives('locate')
  }
}

async function follow({ gateway }: Barn): Promise<RealtimeClient> {
  const socket = await gateway.realtime()
  await socket.subscribe(NAME)
  return socket
}
