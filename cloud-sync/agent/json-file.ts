import { open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { z } from 'zod'

/** Small JSON file, complete after every crash: either the old or the new content. Not stored without a folder. */
export class JsonFile<Schema extends z.ZodType> {
  readonly #folder: string | undefined
  readonly #name: string
  readonly #schema: Schema
  #wanted: z.output<Schema> | undefined
  #writing: Promise<void> | undefined

  constructor(folder: string | undefined, name: string, schema: Schema) {
    this.#folder = folder
    this.#name = name
    this.#schema = schema
  }

  /** Returns undefined if the file is missing or unreadable: it will soon be written again. */
  async read(): Promise<z.output<Schema> | undefined> {
    if (this.#folder === undefined) return undefined
    try {
      const parsed = this.#schema.safeParse(JSON.parse(await readFile(join(this.#folder, this.#name), 'utf8')))
      return parsed.success ? parsed.data : undefined
    } catch {
      return undefined
    }
  }

  /** Resolves when the content is on the disk. Calls during a write share the next one. */
  async write(content: z.output<Schema>): Promise<void> {
    if (this.#folder === undefined) return
    this.#wanted = content
    while (this.#wanted !== undefined) {
      this.#writing ??= this.#writeWanted(this.#folder).finally(() => {
        this.#writing = undefined
      })
      await this.#writing
    }
    // another call may have started to write this content
    await this.#writing
  }

  async #writeWanted(folder: string): Promise<void> {
    const content = this.#wanted
    this.#wanted = undefined
    const path = join(folder, this.#name)
    const temporary = `${path}.tmp`
    const file = await open(temporary, 'w', 0o600)
    try {
      await file.writeFile(JSON.stringify(content))
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
    const opened = await open(folder, 'r')
    // the file name is stored in the folder
    await opened.sync().finally(() => opened.close())
  }
}
