import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createRandom, type Random } from '#shared/random.ts'
import type { Bottle, Check, Finding, Part } from '../bottle.ts'
import type { LiveCart } from '../model/cart.ts'
import type { Entry } from '../plan.ts'

const LETTERS = [...'abcdefghijklmnopqrstuvwxyz']
/** Responses that showed a person or a code. */
const PATHS = [
  '/users',
  '/audit-log?limit=1000',
  '/commands?limit=1000',
  '/carts',
  '/lock-events?limit=1000',
  '/alerts',
]

/** A member of the club, who is forgotten after some hours. */
interface Guest {
  readonly name: string
  /** Code at the keypad of one cart. */
  readonly code: string
  readonly cart: LiveCart
  readonly userId: string
  state: 'known' | 'leaving' | 'erased'
}

/** People who are in many tables, and their erasures. */
export class Erasures implements Part {
  readonly checks: readonly Check[]
  readonly #bottle: Bottle
  readonly #random: Random
  readonly #guests: Guest[] = []

  constructor(bottle: Bottle) {
    this.#bottle = bottle
    this.#random = createRandom(bottle.plan.seed, 'guests')
    this.checks = [
      {
        number: 43,
        claim: 'nothing of an erased person or code is shown, or in a file',
        when: 'look',
        find: () => this.#search(),
      },
    ]
  }

  async perform(entry: Entry): Promise<void> {
    if (entry.kind === 'guest') await this.#enter(entry.cart)
    if (entry.kind === 'guest-leaves') {
      for (const guest of this.#guests) if (guest.state === 'known') guest.state = 'leaving'
      await this.#eraseLeaving()
    }
  }

  async #enter(number: number): Promise<void> {
    const cart = this.#bottle.carts[number - 1]
    if (cart === undefined) return
    const word = () => Array.from({ length: 10 }, () => this.#random.pick(LETTERS as [string, ...string[]])).join('')
    const name = `Guest ${word()} ${word()}`
    const body = { name, role: 'staff', allowed_hardware_ids: ['*'] }
    const made = await this.#bottle.ask('POST', '/users', body)
    if (made?.status !== 201) return
    const code = word()
    cart.guestCode = code
    this.#guests.push({ name, code, cart, userId: made.body.user.user_id, state: 'known' })
    const key = made.body.api_key
    const locate = { command: 'locate', metadata: { player: name } }
    await this.#bottle.ask('POST', `/devices/${cart.hardwareId}/commands`, locate, key)
    await this.#bottle.ask('PATCH', `/carts/${number}`, { note: name }, key)
  }

  /** Erases who has left, as soon as all that the cart has noted has arrived; repeated after a kill. */
  async #eraseLeaving(): Promise<void> {
    for (const guest of this.#guests) {
      const { state, cart, name, code, userId } = guest
      if (state !== 'leaving') continue
      if (cart.guestCode === code) cart.guestCode = null
      if (!cart.isDrained || !cart.isConnected) continue
      const removed = await this.#bottle.ask('DELETE', `/users/${userId}`)
      const answers = [
        await this.#bottle.ask('POST', '/erasures', { person: name.toUpperCase() }),
        await this.#bottle.ask('POST', '/erasures', { code }),
      ]
      if (removed !== null && answers.every((answer) => answer?.status === 200)) guest.state = 'erased'
    }
  }

  async #search(): Promise<Finding[]> {
    await this.#eraseLeaving()
    const erased = this.#guests.filter(({ state }) => state === 'erased')
    if (erased.length === 0 || !this.#bottle.life.isRunning) return []
    const places = this.#bottle.life.disk.beside(() => this.#files())
    for (const path of PATHS) {
      const answer = await this.#bottle.ask('GET', path)
      if (answer !== null) places.set(path, JSON.stringify(answer.body))
    }
    return [...places].flatMap(([place, text]) =>
      erased
        .flatMap(({ name, code }) => [name, code])
        .filter((secret) => text.includes(secret))
        .map((secret) => ({ subject: secret, is: `in ${place}`, expected: 'erased' })),
    )
  }

  /** Content of the files in the data folder. */
  #files(): Map<string, string> {
    const { dataDir } = this.#bottle
    const files = readdirSync(dataDir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    return new Map(files.map(({ parentPath, name }) => [name, readFileSync(join(parentPath, name), 'latin1')] as const))
  }
}
