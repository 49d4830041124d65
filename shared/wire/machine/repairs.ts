import { z } from 'zod'
import { FINDINGS, type FindingCode, REPAIR_ACTIONS } from './findings.ts'

const CODES = Object.keys(FINDINGS) as [FindingCode, ...FindingCode[]]

const findingSchema = z
  .object({
    code: z.enum(CODES).meta({ description: 'Kind of the fault.', example: 'backup_overdue' }),
    level: z.enum(['mind', 'wrong']).meta({ description: 'Severity: wrong is a fault, mind a risk.' }),
    about: z.string().meta({ description: 'Subject.', example: 'backups' }),
    message: z.string().meta({
      description: 'Readable description, as cartbarn doctor prints it.',
      example: 'last good one in /media/stick/: 2026-11-20T02:00:11.000Z',
    }),
    todo: z.string().meta({
      description: 'Remedy: a command to type on the gateway computer, or what to do.',
      example: 'cartbarn backup /media/stick/ shows the reason; see docs/backup.md, Backup',
    }),
    action: z
      .enum(REPAIR_ACTIONS)
      .nullable()
      .meta({
        description:
          'What the gateway does about it on request. accept_loss: POST /repairs/accept. back_up: POST /backups. ' +
          'confirm_clock: POST /clock/confirm. confirm_machine: POST /machine/confirm. renew_certificate: POST ' +
          '/tls/renew. send_test: POST /notifiers/{id}/test. Null if only a person can.',
      }),
    target: z.string().nullable().meta({ description: 'Id for the action: of a notifier; null for the others.' }),
    values: z
      .record(z.string(), z.union([z.string(), z.number()]))
      .meta({ description: 'Values in the message, by name.', example: { target: '/media/stick/' } }),
  })
  .meta({ id: 'Finding' })
export type FindingJson = z.infer<typeof findingSchema>

/** `GET /repairs` */
export const repairsSchema = z
  .object({ findings: z.array(findingSchema).meta({ description: 'Faults, in the order in which to fix them.' }) })
  .meta({ id: 'Repairs' })

/** `POST /repairs/accept` */
export const acceptedLossSchema = z
  .object({ accepted: z.number().int().meta({ description: 'Number of accepted findings about damage.', example: 1 }) })
  .meta({ id: 'AcceptedLoss' })
