import type { ReadyTextJson } from '#shared/wire/messages/texts.ts'
import type { Store } from '#store/store.ts'

/** Texts that staff send to carts with a tap. */
export class ReadyTexts {
  readonly #store: Pick<Store, 'read' | 'write'>

  constructor({ store }: { store: Pick<Store, 'read' | 'write'> }) {
    this.#store = store
  }

  all(): readonly ReadyTextJson[] {
    return this.#store.read.readyTexts()
  }

  async replace(texts: readonly ReadyTextJson[]): Promise<void> {
    await this.#store.write('saveReadyTexts', texts)
  }
}
