import { z } from 'zod'
import { isoSchema, listQuery } from './schema/params.ts'
import { roleSchema, userNameSchema, userSchema } from './users.ts'

const userIdSchema = z
  .string()
  .meta({ description: 'As in GET /users.', example: '6c0a4f2e-6f5d-4a54-8b0e-0d8f3f0a9f11' })

/** What a tablet is called. */
export const sessionNameSchema = userNameSchema
  .max(100)
  .meta({ description: 'For people: which tablet it is.', example: 'Starter tablet' })

export const peopleQuerySchema = listQuery('asc', 'By name: asc or desc.')

/** The PIN of a person. */
const pinSchema = z
  .string()
  .regex(/^[0-9]{4,6}$/, 'must be 4 to 6 digits')
  .meta({ description: '4 to 6 digits.', example: '4711' })

const actingPersonSchema = z
  .object({
    user_id: userIdSchema,
    name: z.string().meta({ description: 'For people.', example: 'Jane' }),
    role: roleSchema.meta({
      description: 'Of the person; what holds on the tablet is never more than its own.',
    }),
    until: isoSchema.meta({ description: 'Then it is over, unless something is done before.' }),
  })
  .nullable()
  .meta({ description: 'Who acts on the tablet; null for nobody in particular.' })

export const sessionSchema = z
  .object({
    session_id: z.string().meta({ description: 'Unique.', example: 'f3b1c0de-5c3e-4a7a-9a44-0a4f5a0f2d11' }),
    user_id: userIdSchema.meta({ description: 'Whose rights it has.' }),
    name: z.string().meta({ description: 'Which tablet it is.', example: 'Starter tablet' }),
    person: actingPersonSchema,
    created_at: isoSchema,
    last_used_at: isoSchema,
    expires_at: isoSchema.meta({ description: '400 days after its last use.' }),
  })
  .meta({ id: 'Session' })
export type SessionJson = z.infer<typeof sessionSchema>

export const meSchema = z
  .object({
    user: userSchema.meta({ description: 'Of the key or of the session, whoever acts on it.' }),
    role: roleSchema.meta({ description: 'As it holds now, for whoever acts.' }),
    scope: z
      .union([z.literal('all'), z.array(z.string())])
      .meta({ description: 'The devices that are seen now: all of them, or these.', example: ['cart-07'] }),
    mqtt: z.object({ username: z.string().meta({ description: 'With the API key as password.' }) }),
    session: sessionSchema
      .pick({ session_id: true, name: true, person: true })
      .extend({
        is_set_up: z
          .literal(true)
          .optional()
          .meta({ description: 'Only of the browser that sets the gateway up: POST /sessions/current/key.' }),
      })
      .nullable()
      .meta({ description: 'null with a key.' }),
    server_time: isoSchema,
    started_at: isoSchema.meta({ description: 'When the gateway was started.' }),
    version: z.string().meta({ description: 'Of the gateway.', example: '1.4.0' }),
    site: z.object({
      name: z.string().meta({ description: 'Of the course.' }),
      time_zone: z.string().meta({ description: 'Of the course, by its IANA name.', example: 'Europe/Berlin' }),
      units: z.enum(['metric', 'imperial']),
      language: z.enum(['en', 'de']),
    }),
  })
  .meta({ id: 'Me' })
export type MeJson = z.infer<typeof meSchema>

export const currentSessionSchema = z
  .object({
    me: meSchema.nullable().meta({ description: 'As GET /me; null while nobody is signed in.' }),
    tls: z
      .object({
        url: z.string().meta({
          description: 'Where the same gateway is over TLS: the same host and port.',
          example: 'https://clubhouse.local:8080',
        }),
        guide: z
          .string()
          .nullable()
          .meta({
            description:
              'The page that guides a browser through trusting the gateway; null with a certificate that is not of ' +
              'its own authority.',
            example: 'http://clubhouse.local:8080/trust',
          }),
      })
      .optional()
      .meta({
        description:
          'For a page that came over plain HTTP, while the gateway has a certificate for the host that it asked for.',
      }),
  })
  .meta({ id: 'CurrentSession' })

export const personSchema = z
  .object({
    user_id: userIdSchema,
    name: z.string().meta({ description: 'For people.', example: 'Jane' }),
    role: roleSchema,
  })
  .meta({ id: 'Person' })

const codeSchema = z.string().max(64).meta({
  description: '12 characters, whatever their case; blanks and - do not count.',
  example: '7K3M-9QXA-2BFT',
})

/** What a browser signs in with: exactly one of the three. */
export const newSessionSchema = z
  .strictObject({
    code: codeSchema.optional(),
    api_key: z.string().min(1).max(256).optional().meta({ description: 'Of the user to sign in.' }),
    name: sessionNameSchema.optional().meta({ description: 'Beside api_key only; browser unless told.' }),
    request_id: z.string().max(64).optional().meta({ description: 'Of POST /access-requests.' }),
    secret: z.string().max(256).optional().meta({ description: 'Beside request_id.' }),
  })
  .superRefine((given, issues) => {
    const proofs = [given.code, given.api_key, given.request_id].filter((proof) => proof !== undefined)
    if (proofs.length !== 1) issues.addIssue('must have exactly one of code, api_key and request_id')
    if ((given.request_id === undefined) !== (given.secret === undefined))
      issues.addIssue('must have request_id and secret together')
    if (given.name !== undefined && given.api_key === undefined) issues.addIssue('has a name beside api_key only')
  })
  .meta({ id: 'NewSession' })

export const signedOutSchema = z.object({
  success: z.literal(true),
  deleted: z.string().meta({ description: 'session_id' }),
})

export const newPersonSchema = z
  .strictObject({ user_id: z.string().max(64).meta({ description: 'Of GET /people.' }), pin: pinSchema })
  .meta({ id: 'NewPerson' })

export const newPinSchema = z
  .strictObject({
    pin: pinSchema.nullable().meta({ description: '4 to 6 digits; null for none.' }),
    old_pin: pinSchema.optional().meta({
      description: 'Needed by an admin who has no rights of an admin now, as on a tablet of staff.',
    }),
  })
  .meta({ id: 'NewPin' })
export const setPinSchema = z.object({ success: z.literal(true) })

export const newPairingCodeSchema = z
  .strictObject({
    user_id: z.string().max(64).meta({ description: 'Whose rights the tablet gets.' }),
    name: sessionNameSchema,
  })
  .meta({ id: 'NewPairingCode' })
export const pairingCodeSchema = z
  .object({
    code: z.string().meta({ description: 'Opens one session.', example: '7K3M9QXA2BFT' }),
    expires_at: isoSchema,
    url: z.string().meta({ description: 'For a QR code.', example: 'http://192.168.1.5:8080/app/#pair=7K3M9QXA2BFT' }),
  })
  .meta({ id: 'PairingCode' })
