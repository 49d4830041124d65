import { useState } from 'preact/hooks'
import { mapTexts } from '#dashboard/texts/map.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Icon } from '#dashboard/ui/icons.tsx'
import { lazy } from '#dashboard/ui/lazy.tsx'

const MessageDialog = lazy(
  () => import('./message.tsx').then(({ MessageDialog: Loaded }) => Loaded),
  () => null,
)

/** Button of staff for a message to all carts that are out, or on a hole. */
export function MessageButton({ isIconOnly = false }: { isIconOnly?: boolean }) {
  const { me } = useDashboard()
  const [isOpen, setOpen] = useState(false)
  if (me.value?.role === 'user') return null
  return (
    <>
      <button type="button" class="button" aria-label={mapTexts().message} onClick={() => setOpen(true)}>
        <Icon name="message" />
        {!isIconOnly && mapTexts().message}
      </button>
      {isOpen && <MessageDialog onClose={() => setOpen(false)} />}
    </>
  )
}
