claims --needs --id C41
