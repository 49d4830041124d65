import { z } from 'zod'
import { isoSchema } from './schema/params.ts'

/** Certificate in use, as returned by `GET /health` and `GET /tls`. */
export const certificateSchema = z.object({
  expires_at: isoSchema,
  detail: z.string().optional().meta({
    description: 'Readable reason for which no new certificate can be issued or loaded; the gateway retries.',
  }),
})

export const tlsSchema = z
  .object({
    certificate: certificateSchema.nullable().meta({ description: 'Certificate in use; null without TLS.' }),
    authority: z
      .object({
        fingerprint: z.string().meta({
          description:
            "SHA-256 fingerprint of the authority's certificate, to be compared with the one that a tablet shows.",
          example: '8F:3A:…',
        }),
        expires_at: isoSchema,
        guide: z.string().nullable().meta({
          description:
            'Page over plain HTTP that guides a tablet through trusting the authority; null once plain HTTP is closed.',
          example: 'http://clubhouse.local:8080/trust',
        }),
      })
      .nullable()
      .meta({ description: 'Authority of the gateway; null without one.' }),
    plain_http: z
      .object({
        open: z.boolean().meta({ description: 'True if HTTP is served alongside HTTPS, or without TLS at all.' }),
        used_by: z
          .array(
            z.object({
              kind: z.enum(['session', 'user', 'device']).meta({
                description:
                  'Kind of client. session: a signed-in browser. user: a program with a key. device: a device that ' +
                  'downloads zones.',
              }),
              id: z.string().meta({ description: 'Id: session_id, user_id or hardware_id.', example: 'cart-07' }),
              name: z
                .string()
                .nullable()
                .meta({ description: 'Name of the tablet, the user or the device; null if it was deleted.' }),
              address: z.string().meta({ description: 'IP address of the last request.', example: '192.168.1.31' }),
              last_at: isoSchema,
            }),
          )
          .meta({
            description: 'Clients over plain HTTP since the start, the last 1,000, newest first; empty without TLS.',
          }),
      })
      .meta({
        description: 'Use of plain HTTP: these clients must be moved before CARTBARN_PLAIN_HTTP=off closes it.',
      }),
  })
  .meta({ id: 'Tls' })
