import { open, readFile, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { z } from 'zod'

/** A small JSON file that is whole after every crash: the old one or the new one. */
export class JsonFile<Schema extends z.ZodType> {
  readonly #path: string
  readonly #schema: Schema
  #wanted: z.output<Schema> | undefined
  #writing: Promise<void> | undefined

  constructor(path: string, schema: Schema) {
    this.#path = path
    this.#schema = schema
  }

  /** Undefined when the file is missing or unreadable: it is written again soon. */
  async read(): Promise<z.output<Schema> | undefined> {
    try {
      const parsed = this.#schema.safeParse(JSON.parse(await readFile(this.#path, 'utf8')))
      return parsed.success ? parsed.data : undefined
    } catch {
      return undefined
    }
  }

  /** Resolves when the content is on the disk. Calls during a write share the next one. */
  async write(content: z.output<Schema>): Promise<void> {
    this.#wanted = content
    while (this.#wanted !== undefined) {
      this.#writing ??= this.#writeWanted().finally(() => {
        this.#writing = undefined
      })
      await this.#writing
    }
    // another call may have begun to write this content
    await this.#writing
  }

  async #writeWanted(): Promise<void> {
    const content = this.#wanted
    this.#wanted = undefined
    const temporary = `${this.#path}.tmp`
    const file = await open(temporary, 'w', 0o600)
    try {
      await file.writeFile(JSON.stringify(content))
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, this.#path)
    const folder = await open(dirname(this.#path), 'r')
    // the name is part of the folder
    await folder.sync().finally(() => folder.close())
  }
}
