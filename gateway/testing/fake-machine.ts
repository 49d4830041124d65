import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'

/** Network card as shown by the kernel. */
export interface FakeCard {
  name?: string
  address: string
  /** Origin of its address: 0 means its maker. */
  assigned?: number
  /** Device it is plugged into, below /sys/devices; null for none, as for a bridge. */
  device?: string | null
}

/** Readable properties of a host; nothing else can be read. */
export interface FakeParts {
  /** Texts by path below `/`. */
  files?: Readonly<Record<string, string>>
  /** Serial number of a Raspberry Pi. */
  board?: string
  systemId?: string
  cards?: readonly FakeCard[]
}

/** File system root of a host, whose card can be moved to another one. */
export class FakeMachine {
  readonly root = mkdtempSync(join(tmpdir(), 'cartbarn-machine-'))

  constructor(t: Pick<TestContext, 'after'>, parts: FakeParts = {}) {
    t.after(() => rmSync(this.root, { recursive: true, force: true }))
    this.becomes(parts)
  }

  /** Replaces the host. */
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
