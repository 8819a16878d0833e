/* What the preload shims have in common: the page that a process shares with refute, its slot there, the setting that holds.

   Included once, where `struct setting`, `struct slot` (whose first member is `pid`) and `struct page` (with `magic`, `turn`,
   `settings` and `slots`) are known. */

static struct page *page;
static _Atomic(struct slot *) mine;

/* Of this process; one for which there is none shares the last one with all such. */
static struct slot *own_slot(void) {
  struct slot *slot = atomic_load_explicit(&mine, memory_order_acquire);
  if (slot) return slot;
  uint32_t me = (uint32_t)getpid();
  for (int place = 0; place < SLOTS - 1 && !slot; place++) {
    uint32_t whose = 0;
    struct slot *candidate = &page->slots[place];
    if (atomic_compare_exchange_strong(&candidate->pid, &whose, me) || whose == me) slot = candidate;
  }
  if (!slot) {
    slot = &page->slots[SLOTS - 1];
    atomic_store(&slot->pid, UINT32_MAX);
  }
  atomic_store_explicit(&mine, slot, memory_order_release);
  return slot;
}

static void in_child(void) { atomic_store(&mine, NULL); }

/* Of the two settings the one of `turn`'s parity holds; the other may be written. One byte decides, so that a writer that
   is killed half way has changed nothing. */
static struct setting setting_now(uint8_t *turn) {
  struct setting found;
  do {
    *turn = atomic_load_explicit(&page->turn, memory_order_acquire);
    found = page->settings[*turn % SETTINGS];
    atomic_thread_fence(memory_order_acquire);
  } while (*turn != atomic_load_explicit(&page->turn, memory_order_relaxed));
  return found;
}

/* Maps the file that the variable names; where it is none of ours, there is no page and all calls are left alone. A process
   that never makes one is seen too: with counts of zero. */
static void map_page(const char *variable) {
  const char *path = getenv(variable);
  int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *mapped = mmap(NULL, sizeof(struct page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (mapped == MAP_FAILED || ((struct page *)mapped)->magic != MAGIC) return;
  pthread_atfork(NULL, NULL, in_child);
  page = mapped;
  own_slot();
}
