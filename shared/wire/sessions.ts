import { z } from 'zod'
import { isoSchema, listQuery } from './schema/params.ts'
import { roleSchema, userNameSchema, userSchema } from './users.ts'

const userIdSchema = z
  .string()
  .meta({ description: 'Id as in GET /users.', example: '6c0a4f2e-6f5d-4a54-8b0e-0d8f3f0a9f11' })

/** Name of a tablet. */
export const sessionNameSchema = userNameSchema
  .max(100)
  .meta({ description: 'Display name of the tablet.', example: 'Starter tablet' })

export const peopleQuerySchema = listQuery('asc', 'Order by name: asc or desc.')

const pinSchema = z
  .string()
  .regex(/^[0-9]{4,6}$/, 'must be 4 to 6 digits')
  .meta({ description: 'PIN of 4 to 6 digits.', example: '4711' })

const actingPersonSchema = z
  .object({
    user_id: userIdSchema,
    name: z.string().meta({ description: 'Display name.', example: 'Jane' }),
    role: roleSchema.meta({
      description: 'Role of the person; on the tablet the rights of its own user are the upper limit.',
    }),
    until: isoSchema.meta({ description: 'Time at which the PIN sign-in ends without further activity.' }),
  })
  .nullable()
  .meta({ description: 'Person signed in with a PIN on the tablet; null for none.' })

export const sessionSchema = z
  .object({
    session_id: z.string().meta({ description: 'Id of the session.', example: 'f3b1c0de-5c3e-4a7a-9a44-0a4f5a0f2d11' }),
    user_id: userIdSchema.meta({ description: 'User whose rights the session has.' }),
    name: z.string().meta({ description: 'Name of the tablet.', example: 'Starter tablet' }),
    person: actingPersonSchema,
    created_at: isoSchema,
    last_used_at: isoSchema,
    expires_at: isoSchema.meta({ description: 'End of the session: 400 days after its last use.' }),
  })
  .meta({ id: 'Session' })
export type SessionJson = z.infer<typeof sessionSchema>

export const meSchema = z
  .object({
    user: userSchema.meta({ description: 'User of the key or of the session, regardless of a PIN sign-in.' }),
    role: roleSchema.meta({ description: 'Role in effect, including a PIN sign-in.' }),
    scope: z
      .union([z.literal('all'), z.array(z.string())])
      .meta({ description: 'Devices in effect: all of them, or these.', example: ['cart-07'] }),
    mqtt: z.object({ username: z.string().meta({ description: 'MQTT user name; the API key is the password.' }) }),
    session: sessionSchema
      .pick({ session_id: true, name: true, person: true })
      .extend({
        is_set_up: z
          .literal(true)
          .optional()
          .meta({ description: 'Only in the browser that sets up the gateway: POST /sessions/current/key.' }),
      })
      .nullable()
      .meta({ description: 'Current session; null with a key.' }),
    server_time: isoSchema,
    started_at: isoSchema.meta({ description: 'Start time of the gateway.' }),
    version: z.string().meta({ description: 'Version of the gateway.', example: '1.4.0' }),
    site: z.object({
      name: z.string().meta({ description: 'Name of the course.' }),
      time_zone: z.string().meta({
        description: 'Time zone of the course, by its IANA name.',
        example: 'Europe/Berlin',
      }),
      units: z.enum(['metric', 'imperial']),
      language: z.enum(['en', 'de']),
    }),
  })
  .meta({ id: 'Me' })
export type MeJson = z.infer<typeof meSchema>

export const currentSessionSchema = z
  .object({
    me: meSchema.nullable().meta({ description: 'Signed-in user as in GET /me; null without one.' }),
    setup_code_file: z.string().optional().meta({
      description: 'File on the gateway computer with the setup code; only until the code is used.',
      example: '/var/lib/cartbarn/admin-key.txt',
    }),
    tls: z
      .object({
        url: z.string().meta({
          description: 'URL of the same gateway over TLS: same host and port.',
          example: 'https://clubhouse.local:8080',
        }),
        guide: z
          .string()
          .nullable()
          .meta({
            description:
              'Page that guides a browser through trusting the gateway; null unless the certificate comes from its ' +
              'own authority.',
            example: 'http://clubhouse.local:8080/trust',
          }),
      })
      .optional()
      .meta({
        description:
          'TLS access, for a page loaded over plain HTTP from a gateway that has a certificate for the requested host.',
      }),
  })
  .meta({ id: 'CurrentSession' })

export const personSchema = z
  .object({
    user_id: userIdSchema,
    name: z.string().meta({ description: 'Display name.', example: 'Jane' }),
    role: roleSchema,
  })
  .meta({ id: 'Person' })

const codeSchema = z.string().max(64).meta({
  description: 'Code of 12 characters, case-insensitive; spaces and - are ignored.',
  example: '7K3M-9QXA-2BFT',
})

/** Credentials with which a browser signs in: exactly one of the three. */
export const newSessionSchema = z
  .strictObject({
    code: codeSchema.optional(),
    api_key: z.string().min(1).max(256).optional().meta({ description: 'API key of the user to sign in.' }),
    name: sessionNameSchema.optional().meta({
      description: 'Name of the session; only together with api_key. Default: browser.',
    }),
    request_id: z.string().max(64).optional().meta({ description: 'Id from POST /access-requests.' }),
    secret: z.string().max(256).optional().meta({
      description: 'Secret of the request; only together with request_id.',
    }),
  })
  .superRefine((given, issues) => {
    const proofs = [given.code, given.api_key, given.request_id].filter((proof) => proof !== undefined)
    if (proofs.length !== 1) issues.addIssue('must have exactly one of code, api_key and request_id')
    if ((given.request_id === undefined) !== (given.secret === undefined))
      issues.addIssue('must have request_id and secret together')
    if (given.name !== undefined && given.api_key === undefined) issues.addIssue('has a name, which needs api_key')
  })
  .meta({ id: 'NewSession' })

export const signedOutSchema = z.object({
  success: z.literal(true),
  deleted: z.string().meta({ description: 'session_id' }),
})

export const newPersonSchema = z
  .strictObject({ user_id: z.string().max(64).meta({ description: 'Id from GET /people.' }), pin: pinSchema })
  .meta({ id: 'NewPerson' })

export const newPinSchema = z
  .strictObject({
    pin: pinSchema.nullable().meta({ description: 'PIN of 4 to 6 digits; null deletes it.' }),
    old_pin: pinSchema.optional().meta({
      description: 'Current PIN; required from an admin whose rights are limited, as on a tablet of staff.',
    }),
  })
  .meta({ id: 'NewPin' })
export const setPinSchema = z.object({ success: z.literal(true) })

export const newPairingCodeSchema = z
  .strictObject({
    user_id: z.string().max(64).meta({ description: 'User whose rights the tablet gets.' }),
    name: sessionNameSchema,
  })
  .meta({ id: 'NewPairingCode' })
export const pairingCodeSchema = z
  .object({
    code: z.string().meta({ description: 'Code that opens one session.', example: '7K3M9QXA2BFT' }),
    expires_at: isoSchema,
    url: z.string().meta({
      description: 'URL for a QR code.',
      example: 'http://192.168.1.5:8080/app/#pair=7K3M9QXA2BFT',
    }),
  })
  .meta({ id: 'PairingCode' })
