import { peopleTexts } from '#dashboard/texts/people.ts'
import { tabletTexts } from '#dashboard/texts/tablets.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Dialog } from '#dashboard/ui/dialog.tsx'
import { Fault } from '#dashboard/ui/fault.tsx'
import { useSending } from '#dashboard/ui/sending.ts'
import { PinPad } from '../pin-pad.tsx'

interface PinDialogProps {
  userId: string
  /** True if there is a PIN to remove. */
  hasPin: boolean
  title: string
  onClose: (isSet: boolean) => void
}

export function PinDialog({ userId, hasPin, title, onClose }: PinDialogProps) {
  const { api, gate } = useDashboard()
  const texts = tabletTexts()
  const { send, fault, isSending } = useSending()
  const set = (pin: string | null) =>
    send(async () => {
      await gate.act(() => api.call('PUT /users/{id}/pin', { path: { id: userId }, body: { pin } }))
      onClose(true)
    })
  return (
    <Dialog title={title} onCancel={() => onClose(false)}>
      <p>{texts.pinWhy}</p>
      <PinPad isSending={isSending} onPin={(pin) => void set(pin)} />
      <Fault text={fault} />
      <div class="dialog-buttons">
        <Button text={texts.cancel} onClick={() => onClose(false)} />
        {hasPin && <Button text={peopleTexts().removePin} disabled={isSending} onClick={() => void set(null)} />}
      </div>
    </Dialog>
  )
}
