import type { ComponentChildren } from 'preact'
import { moreTexts } from '#dashboard/texts/more.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import type { useAdminList } from './use-admin-list.ts'

interface AdminListProps<List> {
  of: ReturnType<typeof useAdminList<List>>
  children: (list: List) => ComponentChildren
}

/**
 * What is in its place until it is there, or when nobody may see it; what was seen stays, and so does what was typed
 * there.
 */
export function AdminList<List>({ of, children }: AdminListProps<List>) {
  const texts = moreTexts()
  const { list, fault, isTurnedDown, again } = of
  const isRefused = isTurnedDown || fault !== null
  return (
    <>
      {isRefused && (
        <div class="stack">
          {isTurnedDown && <p>{texts.forAdmins}</p>}
          <Fault text={fault} />
          <button type="button" class="button" onClick={() => void again()}>
            {texts.tryAgain}
          </button>
        </div>
      )}
      {list === null && !isRefused && <p>{texts.loading} …</p>}
      {list !== null && children(list)}
    </>
  )
}
