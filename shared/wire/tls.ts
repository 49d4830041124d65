import { z } from 'zod'
import { isoSchema } from './schema/params.ts'

/** A certificate in use, as `GET /health` and `GET /tls` tell of it. */
export const certificateSchema = z.object({
  expires_at: isoSchema,
  detail: z
    .string()
    .optional()
    .meta({ description: 'Why another cannot be made or taken, for people; the gateway tries again.' }),
})

export const tlsSchema = z
  .object({
    certificate: certificateSchema.nullable().meta({ description: 'null without TLS.' }),
    authority: z
      .object({
        fingerprint: z.string().meta({
          description: 'SHA-256 of its certificate, to compare with what a tablet shows.',
          example: '8F:3A:…',
        }),
        expires_at: isoSchema,
        guide: z.string().nullable().meta({
          description:
            'The page over plain HTTP that guides a tablet through trusting it; null once plain HTTP is closed.',
          example: 'http://clubhouse.local:8080/trust',
        }),
      })
      .nullable()
      .meta({ description: "The gateway's own authority; null without one." }),
    plain_http: z
      .object({
        open: z.boolean().meta({ description: 'HTTP is served beside HTTPS, or without TLS at all.' }),
        used_by: z
          .array(
            z.object({
              kind: z.enum(['session', 'user', 'device']).meta({
                description:
                  'session: a browser that is signed in. user: a program with a key. device: it downloads zones.',
              }),
              id: z.string().meta({ description: 'session_id, user_id or hardware_id.', example: 'cart-07' }),
              name: z
                .string()
                .nullable()
                .meta({ description: 'Of the tablet, the user or the device; null for what is gone.' }),
              address: z.string().meta({ description: 'Where it came from last.', example: '192.168.1.31' }),
              last_at: isoSchema,
            }),
          )
          .meta({
            description:
              'Who came over plain HTTP since the start, the last 1,000, newest first; without TLS nobody is listed.',
          }),
      })
      .meta({ description: 'Who has to be moved before CARTBARN_PLAIN_HTTP=off closes it.' }),
  })
  .meta({ id: 'Tls' })
