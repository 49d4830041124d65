import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'

/** A network card as the kernel shows it. */
export interface FakeCard {
  name?: string
  address: string
  /** How it got its address: 0 is from its maker. */
  assigned?: number
  /** What it is plugged into, below /sys/devices; null for none, as of a bridge. */
  device?: string | null
}

/** What is told of a machine; nothing else can be read of it. */
export interface FakeParts {
  /** Text by path below `/`. */
  files?: Readonly<Record<string, string>>
  /** The serial number of a Raspberry Pi. */
  board?: string
  systemId?: string
  cards?: readonly FakeCard[]
}

/** The `/` of a machine, whose card can be put into another one. */
export class FakeMachine {
  readonly root = mkdtempSync(join(tmpdir(), 'cartbarn-machine-'))

  constructor(t: Pick<TestContext, 'after'>, parts: FakeParts = {}) {
    t.after(() => rmSync(this.root, { recursive: true, force: true }))
    this.becomes(parts)
  }

  /** From now on it is another machine. */
  becomes({ files = {}, board, systemId, cards = [] }: FakeParts): void {
    rmSync(this.root, { recursive: true, force: true })
    mkdirSync(this.root)
    for (const [path, text] of Object.entries(files)) this.#write(path, text)
    if (board !== undefined) this.#write('sys/firmware/devicetree/base/serial-number', `${board}\0`)
    if (systemId !== undefined) this.#write('etc/machine-id', `${systemId}\n`)
    for (const [i, card] of cards.entries()) this.#plugIn(i, card)
  }

  #plugIn(i: number, { name = `eth${i}`, address, assigned = 0, device = 'platform/eth' }: FakeCard): void {
    const folder = `sys/class/net/${name}`
    this.#write(`${folder}/address`, `${address}\n`)
    this.#write(`${folder}/addr_assign_type`, `${assigned}\n`)
    if (device === null) return
    const place = join(this.root, 'sys/devices', device, String(i))
    mkdirSync(place, { recursive: true })
    symlinkSync(place, join(this.root, folder, 'device'))
  }

  #write(path: string, text: string): void {
    const file = join(this.root, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
}
