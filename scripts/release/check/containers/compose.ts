import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'

const serviceSchema = z.object({
  image: z.string(),
  command: z.array(z.string()).optional(),
  read_only: z.boolean().default(false),
  tmpfs: z.array(z.string()).default([]),
  cap_drop: z.array(z.string()).default([]),
  cap_add: z.array(z.string()).default([]),
  security_opt: z.array(z.string()).default([]),
  environment: z.record(z.string(), z.string()).default({}),
  volumes: z.array(z.string()).default([]),
  healthcheck: z.object({ test: z.array(z.string()) }).optional(),
  networks: z.array(z.string()).default([]),
  depends_on: z.record(z.string(), z.unknown()).default({}),
})

const composeSchema = z.object({
  services: z.record(z.string(), serviceSchema),
  networks: z.record(z.string(), z.unknown()).default({}),
  volumes: z.record(z.string(), z.unknown()).default({}),
})

/** Container of a compose file. */
export type Service = z.infer<typeof serviceSchema>
export type Compose = z.infer<typeof composeSchema>

/** Reads a compose file and replaces its variables. Throws for a variable that is not set. */
export function readCompose(path: string, variables: Readonly<Record<string, string>> = {}): Compose {
  const text = readFileSync(path, 'utf8').replace(/\$\{(\w+)(?::\?[^}]*)?\}/g, (_all, name: string) => {
    const value = variables[name]
    if (value === undefined) throw new Error(`${path}: ${name} is not set`)
    return value
  })
  return composeSchema.parse(parse(text, { strict: true, uniqueKeys: true }))
}
